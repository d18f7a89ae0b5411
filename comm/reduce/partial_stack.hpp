// SPDX-License-Identifier: MIT
// Accumulates a worker's gradients in tree order. It pushes each finished micro-batch (leaf), and
// merges the two topmost sums whenever they are siblings in the tree. The remaining sums are the
// worker's partials, which the host's other workers read in place.
//
// `fold` makes the last leaf's merges range by range, so that finished gradients can leave while
// the backward pass works on the rest. Compute thread, except `fold`.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/arena/arena_layout.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/host/gradient_memory.hpp"

namespace gangway::comm {

/// Reuses its buffers every step: k local micro-batches need about log2 k + 1 buffers.
class PartialStack {
 public:
  /// @param range  the worker's micro-batches; @param memory  allocates the buffers; outlives this
  /// @param parts  of the arena that receive gradients; the rest is never touched; empty: all
  PartialStack(GradientMemory& memory, std::size_t arena_elements, MicrobatchRange range,
               int num_microbatches, std::vector<ElementRange> parts = {});
  /// Allocates in the memory of `host`, which only this constructor uses.
  PartialStack(HostMemory& host, std::size_t arena_elements, MicrobatchRange range,
               int num_microbatches, std::vector<ElementRange> parts = {});

  /// Returns zeroed, arena-sized memory for the next leaf's gradients. After the last leaf, starts
  /// with the first again. @pre then no worker reads the old sums.
  [[nodiscard]] float* open_leaf();
  /// Marks the opened leaf as complete. Micro-batches come in ascending order; `fold` merges the
  /// last of the range.
  /// @throws InvariantError if `microbatch` is not the next.
  void push(int microbatch);
  /// Makes the first leaf the next, also after other leaves.
  void restart();
  /// All buffers, arena after arena: leaves, and the sums they are merged into.
  [[nodiscard]] float* buffers() const { return buffers_; }
  [[nodiscard]] std::size_t num_elements() const { return num_buffers_ * elements_; }
  /// Makes the last leaf's merges in `range`, once per range. @pre all gradients in it are final
  void fold(ElementRange range);

  /// The partials, left to right. partial(p) holds the p-th, complete after its folds.
  [[nodiscard]] const std::vector<MicrobatchRange>& partials() const { return partials_; }
  [[nodiscard]] const float* partial(std::size_t index) const { return buffer(index); }
  /// The index of the partials among the host's own allocations. @pre made with a HostMemory
  [[nodiscard]] std::size_t host_index() const { return host_index_; }

 private:
  [[nodiscard]] float* buffer(std::size_t index) const { return buffers_ + index * elements_; }
  void begin();
  void plan();

  std::unique_ptr<GradientMemory> own_memory_;  // null: the caller's
  GradientMemory* memory_;
  std::size_t elements_;
  std::vector<ElementRange> parts_;
  MicrobatchRange range_;
  int num_microbatches_;
  std::vector<MicrobatchRange> partials_;
  std::vector<std::size_t> merges_;  // by local leaf: sibling merges after its push
  std::size_t num_buffers_ = 0;
  std::size_t host_index_ = 0;
  float* buffers_ = nullptr;
  std::size_t leaf_ = 0;   // next local leaf
  std::size_t depth_ = 0;  // sums on the stack; the open leaf is above them
};

}  // namespace gangway::comm
