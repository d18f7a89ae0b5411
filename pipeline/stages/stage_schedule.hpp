// SPDX-License-Identifier: MIT
// The schedule of a worker: its list of instructions of a step, whether its networks are whole,
// apart or cut. Where they are cut, one worker has a micro-batch while the next one has that before
// it, and in which order forwards and backwards come is the job's choice. No third party.
#pragma once

#include <cstdint>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// Of one step of one worker. Lists of all workers are parts of one order in which everything is
/// made before it is received, and a send waits for nobody, so they cannot wait for each other in a
/// circle.
///
/// Where no network is cut: leaf after leaf (pipeline/stages/leaf_order.hpp). Where some are,
/// filled: that of pipeline/stages/fill_order.hpp; one forward, one backward: the same, with as
/// many micro-batches under way as there are stages; zero bubble: filled, with gradients of weights
/// apart from those of inputs, where others wait for these. By phase: node after node, each for one
/// micro-batch after the other, then station after station (pipeline/stages/backward_stations.hpp).
///
/// `layout.overlap` decides where gradients leave and where new weights are awaited: not at all
/// beside compute (kNone), beside the last backward of the phase (kWithin), or until the network is
/// next used (kAcross): the discriminator's exchange runs on under the generator's forward, the
/// generator's under the next real images. A step so begins with weights that may still be on their
/// way, and ends with such.
[[nodiscard]] std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step);
/// The same of all, whose shares these are: what they have in common is worked out once.
[[nodiscard]] std::vector<std::vector<Instruction>> step_schedules(
    const std::vector<PassShares>& workers, std::int64_t step);
/// Of a worker that holds all networks, for the micro-batches `local`.
[[nodiscard]] std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases,
                                                          MicrobatchRange local, std::int64_t step,
                                                          Overlap overlap, bool recompute = false);

}  // namespace gangway::pipeline
