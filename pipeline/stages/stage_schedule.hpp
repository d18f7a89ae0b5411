// SPDX-License-Identifier: MIT
// Makes a worker's list of instructions of a step, for whole, apart or cut networks. With cut
// networks, workers process successive micro-batches as a pipeline, and the job chooses the order
// of forwards and backwards. No third party.
#pragma once

#include <cstdint>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// Returns the list of one step of one worker. The lists do not deadlock: they are parts of one
/// total order in which each tensor is computed before it is received, and a send never blocks.
///
/// If no network is cut: leaf after leaf (pipeline/stages/leaf_order.hpp). If some are cut, by
/// layout.schedule: kFill: pipeline/stages/fill_order.hpp; kOneForwardOneBackward: the same, with
/// as many micro-batches in flight as stages; kZeroBubble: as kFill, with weight gradients split
/// from the input gradients that other workers wait for; kByPhase: node after node, each for all
/// micro-batches, then segment after segment (pipeline/stages/backward_segments.hpp).
///
/// `layout.overlap` decides which work the exchange of gradients and weights overlaps: none
/// (kNone), the phase's last backward (kWithin), or all work until the network's next use
/// (kAcross). With kAcross the discriminator's exchange overlaps the generator's forward, and a
/// step may begin and end with an exchange under way.
[[nodiscard]] std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step);
/// Returns the lists of all `workers`, and computes shared data once.
[[nodiscard]] std::vector<std::vector<Instruction>> step_schedules(
    const std::vector<PassShares>& workers, std::int64_t step);
/// Returns the list of a worker that holds all networks, for the micro-batches `local`.
[[nodiscard]] std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases,
                                                          MicrobatchRange local, std::int64_t step,
                                                          Overlap overlap, bool recompute = false);

}  // namespace gangway::pipeline
