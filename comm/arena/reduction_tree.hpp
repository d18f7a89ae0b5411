// SPDX-License-Identifier: MIT
// The one tree by which the gradients of M micro-batches are summed, whoever holds them: [0, M) is
// split at the middle, recursively (docs/numerics.md). Pure; any thread.
#pragma once

#include <vector>

#include "job/layout/microbatch_ranges.hpp"

namespace gangway::comm {

/// Where a node of the tree is split into its two children; `node.size()` is at least 2.
[[nodiscard]] inline int split_point(MicrobatchRange node) { return node.begin + node.size() / 2; }

/// The fewest whole subtrees of [0, num_microbatches) whose leaves are exactly `range`, from left
/// to right. Their sums are a worker's *partials*. One where the range is a whole subtree; at most
/// about 2 log2(M).
[[nodiscard]] std::vector<MicrobatchRange> whole_subtrees(MicrobatchRange range,
                                                          int num_microbatches);

/// The end of the one range [0, end) to which `ranges` join, whatever their order, none of them
/// overlapping; -1 if they do not.
[[nodiscard]] int covered_from_start(std::vector<MicrobatchRange> ranges);

/// The parent of `node` in the tree over [0, num_microbatches); the root is its own parent.
/// @throws InvariantError if `node` is no node of that tree.
[[nodiscard]] MicrobatchRange parent_of(MicrobatchRange node, int num_microbatches);

}  // namespace gangway::comm
