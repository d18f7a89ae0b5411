// SPDX-License-Identifier: MIT
// What a process sees of its host's workers: filled by comm/host/host_memory.cpp, used by
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
    Control* control = nullptr;  // read-only unless it is the own or the first member's
    std::vector<MappedMemory> own_memory;
    std::vector<const float*> own;
  };
  std::vector<int> workers;  // ascending, as the members
  std::vector<Member> members;
  std::size_t position = 0;                       // of the own one
  std::atomic<std::uint32_t>* bell = nullptr;     // of the first member
  std::atomic<std::uint32_t>* waiters = nullptr;  // the same
};

}  // namespace gangway::comm
