// SPDX-License-Identifier: MIT
// Local accumulation in tree order: each finished micro-batch (leaf) is pushed, and whenever the
// two topmost sums are siblings in the tree they become their parent. What is left are the worker's
// partials, which the other workers of its host read where they are.
//
// The merges of the last leaf are put off: they are made range by range (`fold`), so that a part of
// the gradient can leave while backward still works on the rest. Compute thread, but for `fold`.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/arena/arena_layout.hpp"
#include "comm/arena/reduction_tree.hpp"
#include "comm/host/gradient_memory.hpp"

namespace gangway::comm {

/// Buffers are reused from step to step: k local micro-batches need about log2 k + 1 of them.
class PartialStack {
 public:
  /// @param range  the worker's micro-batches; @param memory  where the buffers lie; outlives this
  /// @param parts  of the arena that gradients are added to; the rest is never touched; empty: all
  PartialStack(GradientMemory& memory, std::size_t arena_elements, MicrobatchRange range,
               int num_microbatches, std::vector<ElementRange> parts = {});
  /// In the memory of `host`, which is used here alone.
  PartialStack(HostMemory& host, std::size_t arena_elements, MicrobatchRange range,
               int num_microbatches, std::vector<ElementRange> parts = {});

  /// The zeroed memory, arena-sized, into which the next leaf's gradients are to be accumulated.
  /// After the last leaf of the range comes the first again: @pre nobody reads the old sums.
  [[nodiscard]] float* open_leaf();
  /// The opened memory now holds the whole leaf of `microbatch`. Micro-batches come in ascending
  /// order; the last of the range is merged by `fold`.
  /// @throws InvariantError for another one.
  void push(int microbatch);
  /// The next leaf is the first again, whatever was pushed.
  void restart();
  /// All buffers, one arena after the other: what backward has added to and what it has become.
  [[nodiscard]] float* buffers() const { return buffers_; }
  [[nodiscard]] std::size_t num_elements() const { return num_buffers_ * elements_; }
  /// Makes the last leaf's merges on `range`; once a range, after all that it holds is final.
  void fold(ElementRange range);

  /// The partials, left to right: the p-th is complete, once folded, in partial(p).
  [[nodiscard]] const std::vector<MicrobatchRange>& partials() const { return partials_; }
  [[nodiscard]] const float* partial(std::size_t index) const { return buffer(index); }
  /// Which of the host's own allocations holds the partials, arena after arena. @pre made with a
  /// host
  [[nodiscard]] std::size_t host_index() const { return host_index_; }
  [[nodiscard]] std::size_t num_buffers() const { return num_buffers_; }

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
  std::vector<std::size_t> merges_;  // by local leaf: how many siblings join when it is pushed
  std::size_t num_buffers_ = 0;
  std::size_t host_index_ = 0;
  float* buffers_ = nullptr;
  std::size_t leaf_ = 0;   // next local leaf
  std::size_t depth_ = 0;  // sums on the stack; the open leaf lies above them
};

}  // namespace gangway::comm
