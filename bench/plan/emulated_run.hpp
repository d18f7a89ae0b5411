// SPDX-License-Identifier: MIT
// A training whose computing is emulated, under any layout: workers are threads that run the lists
// which real workers would run, with the real lanes, partial sums, reducers and tensor messages,
// but operations sleep what they would cost, updates too, and messages take as long as links would.
// So many devices can be timed on few cores.
#pragma once

#include "plan/predict.hpp"

namespace gangway::bench {

struct EmulatedStep {
  double seconds = 0.0;       ///< by the clock: the median of steps, behind two that warm up
  double late_seconds = 0.0;  ///< largest delay of a wake-up, caused by other work
  double work_seconds = 0.0;  ///< that a worker computes in a step, on average
  /// Share of the step in which workers do not compute.
  [[nodiscard]] double bubble() const { return 1.0 - work_seconds / seconds; }
};

/// @param input   its profile is what operations cost; blocks have parameters of whole arena blocks
/// @param phases  of the job, not cut
[[nodiscard]] EmulatedStep emulated_step(const plan::PlanInput& input,
                                         const std::vector<pipeline::Phase>& phases,
                                         const plan::Candidate& candidate, int steps);

}  // namespace gangway::bench
