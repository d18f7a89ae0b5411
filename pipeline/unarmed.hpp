// SPDX-License-Identifier: MIT
// Schedules whose exchanges begin when all of a phase's gradients are complete: for steps that are
// recorded. Before a graph is over, its device alone knows which gradients are complete. The host
// can open an exchange before it launches the graph; one, as the next waits for that. No third
// party.
#pragma once

#include <vector>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// Which kArm stay.
enum class Armed {
  kNone,
  kAlone,  ///< of phases that have one
};

/// `schedule` without kArm. The exchanges of a phase begin in the order in which they began there,
/// so that a worker with the one schedule and a worker with the other pair the same ones.
[[nodiscard]] std::vector<Instruction> unarmed(const std::vector<Instruction>& schedule,
                                               Armed kept = Armed::kNone);

}  // namespace gangway::pipeline
