// SPDX-License-Identifier: MIT
// What a worker adds up of its own micro-batches' gradients before anything travels, and what it
// needs for that (comm/reduce/partial_stack.hpp does it). Pure.
#pragma once

#include <compare>

#include "job/layout/microbatch_ranges.hpp"

namespace gangway::plan {

struct PartialSums {
  int buffers = 0;       ///< gradient buffers that are needed at once, the open leaf's included
  int partials = 0;      ///< sums that are left: the fewest whole subtrees
  int early_merges = 0;  ///< additions of whole arenas between micro-batches, by compute
  int last_merges = 0;   ///< behind the last one, bucket by bucket, by the lane
  auto operator<=>(const PartialSums&) const = default;
};

/// Of a worker that holds `range` of [0, num_microbatches).
[[nodiscard]] PartialSums partial_sums(MicrobatchRange range, int num_microbatches);

}  // namespace gangway::plan
