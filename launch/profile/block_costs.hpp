// SPDX-License-Identifier: MIT
// Measures each block of each network alone, on its inputs in a real step: forward, input gradient,
// weight gradient, and memory kept for its backward. Compute thread.
#pragma once

#include <vector>

#include "launch/profile/measured_seconds.hpp"
#include "launch/profile/one_worker.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::launch {

/// Measures each block. @pre `worker` has run a step
/// @param seconds  approximate time for each measurement of a block; at least five tries
/// @param tell     called after each block
[[nodiscard]] std::vector<plan::BlockCost> block_costs(OneWorker& worker, double seconds,
                                                       const MeasuredSeconds& tell);

}  // namespace gangway::launch
