// SPDX-License-Identifier: MIT
// Makes the programs of comm/cuda/sum_program.hpp. Pure; any thread.
#pragma once

#include <span>

#include "comm/arena/reduction_tree.hpp"
#include "comm/cuda/sum_program.hpp"

namespace gangway::comm {

/// The sum in tree order over `node` of summands that are the sums of `subtrees`.
/// @param node  of the tree over all micro-batches, often all of it
/// @pre the subtrees, in ascending order, are whole and cover `node` exactly.
/// @throws InvariantError if they do not, or are more than kMaxSummands.
[[nodiscard]] SumProgram tree_sum_program(std::span<const MicrobatchRange> subtrees,
                                          MicrobatchRange node);

/// ((s0 + s1) + s2) + …: for the declared inexact mode, in which no tree is promised.
/// @throws InvariantError if `num_summands` is not in [1, kMaxSummands].
[[nodiscard]] SumProgram running_sum_program(int num_summands);

}  // namespace gangway::comm
