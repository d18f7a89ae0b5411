// SPDX-License-Identifier: MIT
// Local accumulation in tree order: each finished micro-batch (leaf) is pushed, and whenever the
// two topmost sums are siblings in the tree they become their parent. What is left are the worker's
// partials. Compute thread only.
#pragma once

#include <vector>

#include "comm/arena.hpp"
#include "comm/reduction_tree.hpp"

namespace gangway::comm {

/// Buffers are reused from step to step: k local micro-batches need about log2 k + 1 of them.
class PartialStack {
 public:
  struct Partial {
    MicrobatchRange microbatches;
    const float* sum = nullptr;  ///< arena-sized
  };

  PartialStack(std::size_t arena_elements, int num_microbatches);

  /// The zeroed buffer into which the next leaf's gradients are to be accumulated. Valid until
  /// `push`.
  [[nodiscard]] Arena& open_leaf();
  /// The opened buffer now holds the whole leaf of `microbatch`. Micro-batches come in ascending
  /// order.
  void push(int microbatch);
  /// The partials of what was pushed, left to right. Valid until `clear`.
  [[nodiscard]] const std::vector<Partial>& partials() const { return partials_; }
  /// Starts the next phase: all buffers are free again.
  void clear();
  [[nodiscard]] std::size_t num_buffers() const { return buffers_.size(); }

 private:
  std::size_t elements_;
  int num_microbatches_;
  std::vector<Arena>
      buffers_;  // stack_[i] uses buffers_[i]; the open leaf uses buffers_[stack size]
  std::vector<Partial> partials_;
};

}  // namespace gangway::comm
