// SPDX-License-Identifier: MIT
#include "comm/host/gradient_memory.hpp"

#include <cstring>

#include "comm/arena/tree_sum.hpp"

namespace gangway::comm {

float* HostGradientMemory::allocate(std::size_t elements) {
  return arenas_.emplace_back(host_.allocate_own(elements)).data();
}

void HostGradientMemory::clear(float* values, std::size_t elements) {
  std::memset(values, 0, elements * sizeof(float));
}

void HostGradientMemory::add(float* to, const float* from, std::size_t elements) {
  add_in_place(to, from, elements);
}

}  // namespace gangway::comm
