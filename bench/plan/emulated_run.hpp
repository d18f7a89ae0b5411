// SPDX-License-Identifier: MIT
// Emulates a training under any layout. Threads run the lists, lanes, partial sums, reducers and
// tensor messages of real workers. Compute and updates sleep their cost, and messages take as long
// as on the links. So a few cores can time many devices. Called by gangway-bench-plan.
#pragma once

#include "plan/predict.hpp"

namespace gangway::bench {

struct EmulatedStep {
  double seconds = 0.0;       ///< median of the steps after two warm-up steps
  double late_seconds = 0.0;  ///< largest delay of a wake-up, caused by other work
  double work_seconds = 0.0;  ///< compute of a worker in a step, on average
  /// Share of the step in which workers do not compute.
  [[nodiscard]] double bubble() const { return 1.0 - work_seconds / seconds; }
};

/// @param input  its profile gives the costs; each block has parameters of whole arena blocks
/// @param phases  of the job, not cut
[[nodiscard]] EmulatedStep emulated_step(const plan::PlanInput& input,
                                         const std::vector<pipeline::Phase>& phases,
                                         const plan::Candidate& candidate, int steps);

}  // namespace gangway::bench
