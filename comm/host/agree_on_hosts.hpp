// SPDX-License-Identifier: MIT
// Finds which workers share a host by exchanging their machine identities. Called once, before
// shared memory is allocated. Lane thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Returns, by worker, the first worker with the same identity; equal on all workers. Every worker
/// calls it with its own `identity` (shared_memory_identity()).
/// @throws CommError naming a silent worker.
[[nodiscard]] std::vector<int> agree_on_hosts(Transport& transport, std::uint64_t identity,
                                              std::chrono::milliseconds timeout);

}  // namespace gangway::comm
