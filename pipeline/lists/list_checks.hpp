// SPDX-License-Identifier: MIT
// What must hold of the training workers' lists of a step together: that they come to their end,
// and do what one worker's list does. Asked before anybody is shown them, and before training. No
// third party.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "pipeline/schedule.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {

/// One line each, none if all is well:
///
/// - messages: each message that is sent is received, and each receive has its send;
/// - order: each instruction is behind its inputs: received or computed tensors, and gradients of
///   all that take its output;
/// - work: exactly one worker does each forward, backward and penalty of the phases;
/// - leaves: in each phase that trains a network of its own, a worker opens and closes one leaf a
///   micro-batch; the gradients that add to it come between;
/// - updates: each holder of a network begins an update once, behind its leaves, in the order of
///   phases, and awaits it before it uses the weights.
/// @param phases  completed, cut as the lists are
[[nodiscard]] std::vector<std::string> faults_of(const std::vector<std::vector<Instruction>>& lists,
                                                 const std::vector<Phase>& phases,
                                                 const Layout& layout, std::int64_t step,
                                                 const PerNetwork<std::string>& names);

/// @throws InvariantError with the first of faults_of
void require_no_faults(const std::vector<std::vector<Instruction>>& lists,
                       const std::vector<Phase>& phases, const Layout& layout, std::int64_t step,
                       const PerNetwork<std::string>& names);

/// The same of the lists of all workers: of step 0, in which every phase runs, and where some do
/// not always, of step 1.
void require_sound_lists(const std::vector<Phase>& phases, const Layout& layout,
                         const PerNetwork<std::string>& names);

}  // namespace gangway::pipeline
