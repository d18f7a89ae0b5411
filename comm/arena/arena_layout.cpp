// SPDX-License-Identifier: MIT
#include "comm/arena/arena_layout.hpp"

#include <algorithm>
#include <utility>

namespace gangway::comm {
namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::size_t place(std::span<const ArenaLayout::Tensor> tensors, std::size_t offset,
                  std::vector<ArenaEntry>& entries) {
  std::size_t network_block = 0;
  for (const ArenaLayout::Tensor& tensor : tensors) {
    if (std::exchange(network_block, tensor.network_block) != tensor.network_block) {
      offset = round_up(offset, kBlockElements);
    }
    entries.push_back({tensor.name, offset, tensor.elements});
    offset = round_up(offset + tensor.elements, kTensorAlignment);
  }
  return round_up(offset, kBlockElements);
}

}  // namespace

ElementRange intersect(ElementRange a, ElementRange b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

ArenaLayout::ArenaLayout(std::span<const Tensor> parameters, std::span<const Tensor> statistics) {
  statistics_begin_ = place(parameters, 0, parameters_);
  size_ = place(statistics, statistics_begin_, statistics_);
}

}  // namespace gangway::comm
