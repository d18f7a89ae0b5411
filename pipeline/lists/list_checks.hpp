// SPDX-License-Identifier: MIT
// Checks the workers' lists of a step together: that they terminate, and compute what one worker's
// list computes. Called before lists are shown and before training. No third party.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/schedule.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {

/// Returns one line per fault; none if the lists are correct:
///
/// - messages: each message that is sent is received, and each receive has its send;
/// - order: each instruction follows its inputs: received or computed tensors, and the gradients of
///   all takers of its output;
/// - work: exactly one worker does each forward, backward and penalty of the phases;
/// - leaves: in each phase that trains a worker's network, the worker opens and closes one leaf per
///   micro-batch; the gradients that add to it come between;
/// - updates: each holder of a network begins an update once, after its leaves, in the order of
///   phases, and awaits it before it uses the weights.
/// @param phases  completed, and cut as the lists are
[[nodiscard]] std::vector<std::string> faults_of(const std::vector<std::vector<Instruction>>& lists,
                                                 const std::vector<Phase>& phases,
                                                 const Layout& layout, std::int64_t step,
                                                 const PerNetwork<std::string>& names);

/// @throws InvariantError with the first of faults_of
void require_no_faults(const std::vector<std::vector<Instruction>>& lists,
                       const std::vector<Phase>& phases, const Layout& layout, std::int64_t step,
                       const PerNetwork<std::string>& names);

/// Checks the lists of all workers for step 0, in which every phase runs. Also checks step 1 if
/// some phases do not always run. @throws as require_no_faults
void require_sound_lists(const std::vector<Phase>& phases, const Layout& layout,
                         const PerNetwork<std::string>& names);

}  // namespace gangway::pipeline
