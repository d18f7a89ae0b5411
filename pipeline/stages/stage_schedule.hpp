// SPDX-License-Identifier: MIT
// The schedule of a worker where networks are cut: while one worker has a micro-batch, the next one
// has that before it. In which order forwards and backwards come is the job's choice. No third
// party.
#pragma once

#include <cstdint>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

struct StageOptions {
  Overlap overlap = Overlap::kAcross;
  StageOrder order = StageOrder::kFill;
  int in_flight = 0;  ///< micro-batches under way on a worker, at most; 0: as the order has it
};

/// Of the job's layout.
[[nodiscard]] inline StageOptions stage_options(const LayoutChoice& layout) {
  return {.overlap = layout.overlap, .order = layout.schedule, .in_flight = layout.in_flight};
}

/// Of one step. Lists of all workers are parts of one order in which everything is made before it
/// is received, and a send waits for nobody, so they cannot wait for each other in a circle.
/// Filled: that of pipeline/stages/fill_order.hpp; one forward, one backward: the same, with as
/// many micro-batches under way as there are stages; zero bubble: filled, with gradients of weights
/// apart from those of inputs, where others wait for these. By phase: node after node, each for one
/// micro-batch after the other, then station after station (pipeline/stages/backward_stations.hpp).
[[nodiscard]] std::vector<Instruction> stage_schedule(const PassShares& shares, std::int64_t step,
                                                      const StageOptions& options);

/// A step of one worker, whether its networks are whole, apart or cut.
[[nodiscard]] std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step,
                                                     const StageOptions& options);
/// The same of all, whose shares these are: what they have in common is worked out once.
[[nodiscard]] std::vector<std::vector<Instruction>> step_schedules(
    const std::vector<PassShares>& workers, std::int64_t step, const StageOptions& options);

}  // namespace gangway::pipeline
