// SPDX-License-Identifier: MIT
// Schedules whose exchanges begin when all of a phase's gradients are complete: for steps that are
// recorded. Before a graph is over its gradients are known to be complete by its device alone; and
// the host opens an exchange before it launches the graph, so that one can have one. No third
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
