// SPDX-License-Identifier: MIT
// A stand-in for NCCL between threads of one process, as strict as NCCL: the n-th send of a worker
// to a peer meets the n-th receive of that peer from it, both must name equal sizes, and a group is
// done only when every message in it has been taken. Non-blocking communicators put a group on its
// stream some polls later. No communicator ends while a graph lives that a group of it was captured
// into.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <nccl.h>

namespace gangway::fake {

/// From now on the communicators made from `id` report `error` when they are asked.
void break_communicators(const ncclUniqueId& id, ncclResult_t error);

/// Communicators of the process that have neither been destroyed nor aborted.
[[nodiscard]] int num_communicators();

/// How often memory of ncclMemAlloc was freed while a group on its stream had still to work on it.
[[nodiscard]] int num_freed_in_use();

/// Bytes that went from a worker to another in messages, of all communicators since the last call.
[[nodiscard]] std::map<std::pair<int, int>, std::uint64_t> take_bytes_sent();

}  // namespace gangway::fake
