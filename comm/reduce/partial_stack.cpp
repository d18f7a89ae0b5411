// SPDX-License-Identifier: MIT
#include "comm/reduce/partial_stack.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::comm {

PartialStack::PartialStack(GradientMemory& memory, std::size_t arena_elements,
                           MicrobatchRange range, int num_microbatches,
                           std::vector<ElementRange> parts)
    : memory_(&memory),
      elements_(arena_elements),
      parts_(std::move(parts)),
      range_(range),
      num_microbatches_(num_microbatches) {
  begin();
}

PartialStack::PartialStack(HostMemory& host, std::size_t arena_elements, MicrobatchRange range,
                           int num_microbatches, std::vector<ElementRange> parts)
    : own_memory_(std::make_unique<HostGradientMemory>(host)),
      memory_(own_memory_.get()),
      elements_(arena_elements),
      parts_(std::move(parts)),
      range_(range),
      num_microbatches_(num_microbatches),
      host_index_(host.num_own()) {
  begin();
}

void PartialStack::begin() {
  if (parts_.empty()) {
    parts_ = {{0, elements_}};
  }
  plan();
  buffers_ = memory_->allocate(num_buffers_ * elements_);
}

void PartialStack::plan() {
  for (int microbatch = range_.begin; microbatch < range_.end; ++microbatch) {
    partials_.push_back({microbatch, microbatch + 1});
    num_buffers_ = std::max(num_buffers_, partials_.size());
    std::size_t merges = 0;
    while (partials_.size() >= 2) {
      const MicrobatchRange right = partials_.back();
      const MicrobatchRange left = partials_[partials_.size() - 2];
      const MicrobatchRange parent = parent_of(right, num_microbatches_);
      if (parent != MicrobatchRange{left.begin, right.end} || split_point(parent) != right.begin) {
        break;
      }
      partials_.pop_back();
      partials_.back() = parent;
      ++merges;
    }
    merges_.push_back(merges);
  }
}

float* PartialStack::open_leaf() {
  if (leaf_ == merges_.size()) {
    restart();
  }
  float* const memory = buffer(depth_);
  for (const ElementRange& part : parts_) {
    memory_->clear(memory + part.begin, part.size());
  }
  return memory;
}

void PartialStack::restart() {
  leaf_ = 0;
  depth_ = 0;
}

void PartialStack::push(int microbatch) {
  if (leaf_ >= merges_.size() || microbatch != range_.begin + static_cast<int>(leaf_)) {
    throw InvariantError(
        fmt::format("micro-batch {} was summed up where {} of [{}, {}) was due; please report this",
                    microbatch, range_.begin + static_cast<int>(leaf_), range_.begin, range_.end));
  }
  ++depth_;
  const std::size_t merges = merges_[leaf_++];
  if (leaf_ == merges_.size()) {
    return;  // `fold` merges the last leaf
  }
  for (std::size_t i = 0; i < merges; ++i, --depth_) {
    for (const ElementRange& part : parts_) {
      memory_->add(buffer(depth_ - 2) + part.begin, buffer(depth_ - 1) + part.begin, part.size());
    }
  }
}

void PartialStack::fold(ElementRange range) {
  // Siblings merge from the top of the stack, which is the last leaf.
  if (merges_.empty()) {
    return;  // a worker without micro-batches
  }
  std::size_t top = partials_.size() + merges_.back() - 1;
  for (std::size_t i = 0; i < merges_.back(); ++i, --top) {
    memory_->add(buffer(top - 1) + range.begin, buffer(top) + range.begin, range.size());
  }
}

}  // namespace gangway::comm
