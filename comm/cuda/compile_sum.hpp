// SPDX-License-Identifier: MIT
// Compiles the sum programs of comm/cuda/sum_program.hpp. Pure; any thread.
#pragma once

#include <span>

#include "comm/arena/reduction_tree.hpp"
#include "comm/cuda/sum_program.hpp"

namespace gangway::comm {

/// Returns the program that sums the `subtrees` in tree order over `node`.
/// @param node  a node of the tree over all micro-batches, often the root
/// @pre the subtrees, in ascending order, are whole and cover `node` exactly.
/// @throws InvariantError if they do not, or if there are more than kMaxSummands.
[[nodiscard]] SumProgram tree_sum_program(std::span<const MicrobatchRange> subtrees,
                                          MicrobatchRange node);

/// Returns the program of ((s0 + s1) + s2) + …, for the inexact mode, which promises no tree.
/// @throws InvariantError if `num_summands` is not in [1, kMaxSummands].
[[nodiscard]] SumProgram running_sum_program(int num_summands);

}  // namespace gangway::comm
