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

/// Of one step. Lists of all workers are parts of one order in which everything is made before it
/// is received, and a send waits for nobody, so they cannot wait for each other in a circle: first
/// node after node, each for one micro-batch after the other, then station after station.
[[nodiscard]] std::vector<Instruction> stage_schedule(const PassShares& shares, std::int64_t step,
                                                      Overlap overlap);

}  // namespace gangway::pipeline
