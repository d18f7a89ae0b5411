// SPDX-License-Identifier: MIT
// Counts the additions and buffers with which a worker sums its own micro-batches' gradients before
// it sends any (comm/reduce/partial_stack.hpp). Pure.
#pragma once

#include <compare>

#include "job/layout/microbatch_ranges.hpp"

namespace gangway::plan {

struct PartialSums {
  int buffers = 0;       ///< gradient buffers in use at once, the open leaf included
  int partials = 0;      ///< sums left at the end: the fewest whole subtrees
  int early_merges = 0;  ///< additions of whole arenas by the compute thread, between micro-batches
  int last_merges = 0;   ///< additions by the lane after the last micro-batch, bucket by bucket
  auto operator<=>(const PartialSums&) const = default;
};

/// Returns the counts of a worker with micro-batches `range` of [0, num_microbatches).
[[nodiscard]] PartialSums partial_sums(MicrobatchRange range, int num_microbatches);

}  // namespace gangway::plan
