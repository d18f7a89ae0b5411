// SPDX-License-Identifier: MIT
// Each block of each network alone, on what it is given in a real step: forward, gradient of what
// it takes, gradient of its weights, and the memory that waits for its backward. Compute thread.
#pragma once

#include <vector>

#include "launch/profile/measured_seconds.hpp"
#include "launch/profile/one_worker.hpp"
#include "plan/profiles/profile.hpp"

namespace gangway::launch {

/// Each block by itself. @pre `worker` has run a step
/// @param seconds  about how long each measurement of a block may take; five tries in any case
/// @param tell     called behind each block
[[nodiscard]] std::vector<plan::BlockCost> block_costs(OneWorker& worker, double seconds,
                                                       const MeasuredSeconds& tell);

}  // namespace gangway::launch
