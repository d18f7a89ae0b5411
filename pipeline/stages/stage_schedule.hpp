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

/// The list of one step of one worker. Deadlock-free: the lists of all workers are parts of one
/// total order in which each tensor is computed before it is received, and a send never blocks.
///
/// Where no network is cut: leaf after leaf (pipeline/stages/leaf_order.hpp). Where some are cut,
/// by layout.schedule: kFill: pipeline/stages/fill_order.hpp; kOneForwardOneBackward: the same,
/// with as many micro-batches in flight as there are stages; kZeroBubble: filled, with weight
/// gradients split from input gradients where other workers wait for the latter; kByPhase: node
/// after node, each for all micro-batches, then station after station
/// (pipeline/stages/backward_stations.hpp).
///
/// `layout.overlap` decides beside what the exchange of gradients and weights runs: nothing
/// (kNone); the last backward of the phase (kWithin); everything until the network is next used
/// (kAcross). So the discriminator's exchange runs under the generator's forward, the generator's
/// under the next real images, and a step may begin and end with an exchange under way.
[[nodiscard]] std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step);
/// The same of all, whose shares these are: what they have in common is worked out once.
[[nodiscard]] std::vector<std::vector<Instruction>> step_schedules(
    const std::vector<PassShares>& workers, std::int64_t step);
/// Of a worker that holds all networks, for the micro-batches `local`.
[[nodiscard]] std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases,
                                                          MicrobatchRange local, std::int64_t step,
                                                          Overlap overlap, bool recompute = false);

}  // namespace gangway::pipeline
