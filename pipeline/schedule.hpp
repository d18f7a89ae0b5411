// SPDX-License-Identifier: MIT
// Makes the list of instructions of a worker's step from the job's phases and the worker's part of
// the layout. The executor runs the list; the simulator times it. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// Returns how many first nodes of the instruction's pass a later phase reuses: last repeat only.
[[nodiscard]] int nodes_to_keep(const std::vector<Phase>& phases, const Instruction& at);

/// Lowers activation checkpointing into `list`: marks forwards that drop their activations, and
/// adds a kRecompute before their backward. A node that another phase reuses keeps its activations,
/// because the repeated forward would use other random keys.
[[nodiscard]] std::vector<Instruction> with_recomputes(const std::vector<Phase>& phases,
                                                       const std::vector<Instruction>& list);

/// Returns `list` with a kArm per exchange if `overlap` allows it, and last updates marked.
[[nodiscard]] std::vector<Instruction> with_updates_marked(const std::vector<Phase>& phases,
                                                           std::vector<Instruction> list,
                                                           Overlap overlap);

/// Text for traces and messages: "reduce generator", "forward discriminator pass 1 micro-batch 3".
/// @param networks  names of the job's networks
[[nodiscard]] std::string describe(const Instruction& instruction,
                                   const PerNetwork<std::string>& networks);

}  // namespace gangway::pipeline
