// SPDX-License-Identifier: MIT
// Makes lists that can be run of an order of tasks: adds messages where maker and taker are
// different workers, leaves, arming, waiting for new weights, and letting go of tensors. No third
// party.
#pragma once

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/generators.hpp"
#include "pipeline/staged/instruction.hpp"
#include "pipeline/staged/tasks.hpp"

namespace gangway::pipeline {

/// A tensor leaves right behind what makes it, and is waited for right before what takes it; but
/// between two workers messages are received in the order in which they were sent. New weights are
/// awaited at their first use, or at the end. Leaves are closed in ascending order.
/// @param costs  whose output_bytes are the sizes of messages
[[nodiscard]] StageSchedule lowered(const TaskGraph& graph, const TaskOrder& order,
                                    const Costs& costs);

/// Tasks, order and lists at once. @pre check(layout)
[[nodiscard]] StageSchedule stage_schedule(const std::vector<Phase>& phases, const Layout& layout,
                                           int first_step, int num_steps, const Costs& costs,
                                           const ScheduleOptions& options);

}  // namespace gangway::pipeline
