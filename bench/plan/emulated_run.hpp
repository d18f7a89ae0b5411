// SPDX-License-Identifier: MIT
// A training whose computing is emulated: workers are threads that run their schedules with the
// real lanes, partial sums and reducers, but operations sleep what they would cost, updates too,
// and messages take as long as links would. So many devices can be timed on few cores.
#pragma once

#include "launch/plan/predict.hpp"

namespace gangway::bench {

/// Seconds of a step by the clock: the mean over `steps`, behind two that warm up.
/// @param input   its profile is what operations cost; its networks have arenas of whole blocks
[[nodiscard]] double emulated_step_seconds(const launch::PlanInput& input,
                                           const std::vector<pipeline::Phase>& phases,
                                           const launch::PlannedLayout& layout, int steps);

}  // namespace gangway::bench
