// SPDX-License-Identifier: MIT
#include "comm/partial_stack.hpp"

#include <cstring>

#include "comm/tree_sum.hpp"

namespace gangway::comm {

PartialStack::PartialStack(std::size_t arena_elements, int num_microbatches)
    : elements_(arena_elements), num_microbatches_(num_microbatches) {}

Arena& PartialStack::open_leaf() {
  if (partials_.size() == buffers_.size()) {
    buffers_.emplace_back(elements_);  // fresh pages are zero
  } else {
    std::memset(buffers_[partials_.size()].data(), 0, elements_ * sizeof(float));
  }
  return buffers_[partials_.size()];
}

void PartialStack::push(int microbatch) {
  partials_.push_back({{microbatch, microbatch + 1}, buffers_[partials_.size()].data()});
  while (partials_.size() >= 2) {
    const MicrobatchRange right = partials_.back().microbatches;
    const MicrobatchRange left = partials_[partials_.size() - 2].microbatches;
    const MicrobatchRange parent = parent_of(right, num_microbatches_);
    if (parent != MicrobatchRange{left.begin, right.end} || split_point(parent) != right.begin) {
      return;
    }
    const std::size_t top = partials_.size() - 1;
    add_in_place(buffers_[top - 1].data(), buffers_[top].data(), elements_);
    partials_.pop_back();
    partials_.back().microbatches = parent;
  }
}

void PartialStack::clear() { partials_.clear(); }

}  // namespace gangway::comm
