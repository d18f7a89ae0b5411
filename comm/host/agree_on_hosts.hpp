// SPDX-License-Identifier: MIT
// Which workers share a host: found once, before anything is allocated, by exchanging what each
// sees of its machine. Lane thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/transport/transport.hpp"

namespace gangway::comm {

/// Every worker calls it with its own `identity` (shared_memory_identity()). Returns, by worker,
/// the first worker with the same identity: equal on all workers.
/// @throws CommError naming a silent worker.
[[nodiscard]] std::vector<int> agree_on_hosts(Transport& transport, std::uint64_t identity,
                                              std::chrono::milliseconds timeout);

}  // namespace gangway::comm
