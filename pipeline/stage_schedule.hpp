// SPDX-License-Identifier: MIT
// The schedule of a worker where networks are cut: a chunk's forwards of all micro-batches of a
// phase one behind the other, then its backwards, so that while one worker has a micro-batch the
// next one has that before it (GPipe, Huang et al., 2019, by phase). No third party.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

enum class StageOrder {
  kByPhase,  ///< a phase's forwards, then its backwards
  /// Between them the next phase's forwards, as far as they need nothing that this one trains: who
  /// waits for the first gradient has those to do. Their graphs are kept longer.
  kFill,
};

struct StageOptions {
  Overlap overlap = Overlap::kAcross;
  StageOrder order = StageOrder::kFill;
};

/// Of one step. Lists of all workers are parts of one order in which everything is made before it
/// is received, and a send waits for nobody, so they cannot wait for each other in a circle: first
/// node after node, each for one micro-batch after the other, then station after station
/// (pipeline/backward_stations.hpp).
[[nodiscard]] std::vector<Instruction> stage_schedule(const PassShares& shares, std::int64_t step,
                                                      const StageOptions& options);

/// A step of one worker, whether its networks are whole, apart or cut.
[[nodiscard]] std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step,
                                                     Overlap overlap);

}  // namespace gangway::pipeline
