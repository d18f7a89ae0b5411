// SPDX-License-Identifier: MIT
// Does the reduction's arithmetic on plain floats: pairwise sums in tree order, and sums of squares
// by fixed blocks. Called by comm/reduce. Pure; any thread.
#pragma once

#include <cstddef>
#include <span>

#include "comm/arena/reduction_tree.hpp"

namespace gangway::comm {

/// target[i] += addend[i]. Element-wise, so the bits do not depend on how a range is cut.
void add_in_place(float* target, const float* addend, std::size_t elements);

/// One summand of tree_sum: the sum of a whole subtree.
struct TreeSummand {
  MicrobatchRange microbatches;
  const float* values = nullptr;
};

/// The part of `summands` that belongs to the subtree `root`. @pre `summands` ascend
[[nodiscard]] std::span<const TreeSummand> within(MicrobatchRange root,
                                                  std::span<const TreeSummand> summands);

/// out[i] = scale * (sum of the summands' values[offset + i], in tree order over `root`).
/// Allocates nothing.
/// @pre the summands, in ascending order, are whole subtrees that cover `root` exactly.
/// @throws InvariantError if they do not.
void tree_sum(std::span<const TreeSummand> summands, MicrobatchRange root, float scale,
              std::span<float> out, std::size_t offset = 0);

/// Sum of squares of one block (kBlockElements values) in double, always in the same order.
[[nodiscard]] double block_sum_of_squares(const float* block);

/// Pairwise tree sum of per-block values in block order; 0 for none.
[[nodiscard]] double pairwise_sum(std::span<const double> values);

}  // namespace gangway::comm
