// SPDX-License-Identifier: MIT
// The group of a worker that shares no memory with other workers.
#pragma once

#include <utility>

#include "comm/host/host_memory.hpp"

namespace gangway::comm {

/// Connects the group whose arenas lie in `memory`.
[[nodiscard]] inline HostGroup connected(HostMemory memory) {
  return std::move(memory).connect(0, Deadline(std::chrono::milliseconds(0)));
}
[[nodiscard]] inline HostGroup lone_group(std::size_t num_flags) {
  return connected(HostMemory::alone(0, num_flags));
}

}  // namespace gangway::comm
