// SPDX-License-Identifier: MIT
// A worker's work as data: the list of instructions of one step, made from the job's phases and the
// worker's part of the layout. The executor runs the list, the simulator times it; neither knows
// how it came about. No third party.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

enum class Operation {
  kOpenLeaf,         ///< bind zeroed gradients for one micro-batch
  kForward,          ///< an application of a network, and what of the pass comes before it
  kBackward,         ///< back through what that forward left, after all that took its output
  kPenaltyForward,   ///< first two sweeps of a penalty
  kPenaltyBackward,  ///< last two sweeps
  kCloseLeaf,        ///< the micro-batch's gradient is whole: add it to the worker's partials
  kArm,              ///< the phase's last backward follows: what it completes may travel at once
  kReduce,           ///< all gradients are complete: what has not left travels now; sum, agreement
                     ///< (where the phase clips), update and new weights follow by themselves
  kAwait,            ///< wait until the network's new weights are everywhere
  // Where networks are apart, of the tensors that a node makes:
  kSend,             ///< to a worker that takes them
  kReceive,          ///< from the worker that has made them
  kSendGradient,     ///< what this worker gives, back to that worker
  kReceiveGradient,  ///< what such a worker gives
};

struct Instruction {
  Operation operation = Operation::kForward;
  NetworkId network{};  ///< that computes or is updated
  int phase = 0;        ///< index into the job's phases
  int repeat = 0;       ///< n_critic position
  int pass = 0;         ///< index into the phase's passes
  int node = 0;         ///< index into the pass's nodes
  int microbatch = -1;  ///< -1 where none is meant
  /// kArm, kReduce: of the network's last update in the step.
  bool is_last_update = false;
  int peer = -1;          ///< of a send or receive
  bool is_ahead = false;  ///< the micro-batch's leaf is opened later
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

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
