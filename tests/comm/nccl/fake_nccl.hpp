// SPDX-License-Identifier: MIT
// A stand-in for NCCL between threads of one process, as strict as NCCL. The n-th send of a worker
// to a peer meets the peer's n-th receive from it, and both must name equal sizes. A group is done
// when all its messages have been received. Non-blocking communicators put a group on its stream
// some polls later. No communicator ends while a graph with one of its groups lives.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <nccl.h>

namespace gangway::fake {

/// Makes the communicators made from `id` report `error`.
void break_communicators(const ncclUniqueId& id, ncclResult_t error);

/// Returns the number of communicators that have been neither destroyed nor aborted.
[[nodiscard]] int num_communicators();

/// Returns how often memory of ncclMemAlloc was freed before a queued group had used it.
[[nodiscard]] int num_freed_in_use();

/// Returns the bytes of messages by (sender, receiver), of all communicators, since the last call.
[[nodiscard]] std::map<std::pair<int, int>, std::uint64_t> take_bytes_sent();

}  // namespace gangway::fake
