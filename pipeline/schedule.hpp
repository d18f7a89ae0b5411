// SPDX-License-Identifier: MIT
// A worker's work as data: the list of instructions of one step, made from the job's phases and the
// worker's part of the layout. The executor runs the list, the simulator times it; neither knows
// how it came about. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/instruction.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// Of the first nodes of the pass that `at` is of, how many a later phase takes up.
[[nodiscard]] int nodes_to_keep(const std::vector<Phase>& phases, const Instruction& at);

/// Whether the node that `at` is about is an application that may keep nothing of its inside
/// between forward and backward, and be carried out once more (activation checkpointing). What
/// another phase takes up may not: there its random keys would be others.
[[nodiscard]] bool can_be_recomputed(const std::vector<Phase>& phases, const Instruction& at);

/// `list` with a kRecompute before each backward of those.
[[nodiscard]] std::vector<Instruction> with_recomputes(const std::vector<Phase>& phases,
                                                       const std::vector<Instruction>& list);

/// `list` with its armings, where gradients leave beside backward, and its last updates marked.
[[nodiscard]] std::vector<Instruction> with_updates_marked(const std::vector<Phase>& phases,
                                                           std::vector<Instruction> list,
                                                           Overlap overlap);

/// "reduce generator", "forward discriminator pass 1 micro-batch 3": for traces and messages.
/// @param networks  names of the job's
[[nodiscard]] std::string describe(const Instruction& instruction,
                                   const PerNetwork<std::string>& networks);

}  // namespace gangway::pipeline
