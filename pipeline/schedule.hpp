// SPDX-License-Identifier: MIT
// A worker's work as data: the list of instructions of one step, made from the job's phases and the
// worker's part of the layout. The executor runs the list, the simulator times it; neither knows
// how it came about. No third party.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// The one-stage schedule: everything of a micro-batch on one worker, phase after phase.
///
/// `overlap` decides where gradients leave and where new weights are awaited: not at all beside
/// compute (kNone), beside the last backward of the phase (kWithin), or until the network is next
/// used (kAcross): the discriminator's exchange runs on under the generator's forward, the
/// generator's under the next real images. A step so begins with weights that may still be on their
/// way, and ends with such.
[[nodiscard]] std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases,
                                                          MicrobatchRange local, std::int64_t step,
                                                          Overlap overlap);

/// `list` with its armings, where gradients leave beside backward, and its last updates marked.
[[nodiscard]] std::vector<Instruction> with_updates_marked(const std::vector<Phase>& phases,
                                                           std::vector<Instruction> list,
                                                           Overlap overlap);

/// "reduce generator", "forward discriminator pass 1 micro-batch 3": for traces and messages.
/// @param networks  names of the job's
[[nodiscard]] std::string describe(const Instruction& instruction,
                                   const PerNetwork<std::string>& networks);

}  // namespace gangway::pipeline
