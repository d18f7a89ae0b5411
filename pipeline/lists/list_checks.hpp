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
/// - messages: what is sent is received, and nobody waits for what never comes;
/// - order: each is behind what it takes: tensors that it was sent or has made, gradients of all
///   that take what it has made;
/// - work: every forward, backward and penalty of the phases is done once, by somebody;
/// - leaves: each worker opens and closes one of each of its micro-batches in each phase that
///   trains a network that it holds, and what adds to it comes between;
/// - updates: begun behind their leaves, once by each who holds the network, in the one order of
///   phases, and awaited before the weights are used.
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
