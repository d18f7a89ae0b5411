// SPDX-License-Identifier: MIT
// Schedules whose exchanges begin when all of a phase's gradients are complete: for steps that are
// recorded, in which no gradient is known to be complete before the graph is over. No third party.
#pragma once

#include <vector>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// `schedule` without kArm. The exchanges of a phase begin in the order in which they began there,
/// so that a worker with the one schedule and a worker with the other pair the same ones.
[[nodiscard]] std::vector<Instruction> unarmed(const std::vector<Instruction>& schedule);

}  // namespace gangway::pipeline
