// SPDX-License-Identifier: MIT
// One process's view of its host's workers. Filled by comm/host/host_memory.cpp, used by
// comm/host/host_group.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shared_segment.hpp"
#include "comm/host/shared_control_block.hpp"

namespace gangway::comm {

struct HostView {
  struct Member {
    MappedMemory control_memory;
    Control* control = nullptr;  // read-only except this worker's and the first member's
    std::vector<MappedMemory> own_memory;
    std::vector<const float*> own;
  };
  std::vector<int> workers;  // ascending; same order as `members`
  std::vector<Member> members;
  std::size_t position = 0;                       // of this worker
  std::atomic<std::uint32_t>* bell = nullptr;     // of the first member
  std::atomic<std::uint32_t>* waiters = nullptr;  // of the first member
};

}  // namespace gangway::comm
