// SPDX-License-Identifier: MIT
// Defines the tree that sums the gradients of M micro-batches, for any assignment to workers:
// [0, M) is split at the middle, recursively (docs/numerics.md). Pure; any thread.
#pragma once

#include <vector>

#include "job/layout/microbatch_ranges.hpp"

namespace gangway::comm {

/// The middle, where the tree splits `node` into two children. @pre node.size() >= 2
[[nodiscard]] inline int split_point(MicrobatchRange node) { return node.begin + node.size() / 2; }

/// The fewest whole subtrees of [0, num_microbatches) whose leaves are exactly `range`, from left
/// to right. Their sums are a worker's *partials*: one if `range` is a whole subtree, and at most
/// about 2 log2(M).
[[nodiscard]] std::vector<MicrobatchRange> whole_subtrees(MicrobatchRange range,
                                                          int num_microbatches);

/// Returns the end of [0, end), the union of `ranges`, in any order and without overlap. Returns -1
/// if the union has no such form.
[[nodiscard]] int covered_from_start(std::vector<MicrobatchRange> ranges);

/// The parent of `node` in the tree over [0, num_microbatches); the root is its own parent.
/// @throws InvariantError if `node` is no node of that tree.
[[nodiscard]] MicrobatchRange parent_of(MicrobatchRange node, int num_microbatches);

}  // namespace gangway::comm
