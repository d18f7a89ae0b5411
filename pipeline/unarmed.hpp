// SPDX-License-Identifier: MIT
// Makes schedules for recorded steps: an exchange begins when all gradients of its phase are
// complete. While a graph runs, only its device knows which gradients are complete. The host can
// open only one exchange before it launches the graph, because the next waits for that one. No
// third party.
#pragma once

#include <vector>

#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// The kArm instructions that stay.
enum class Armed {
  kNone,
  kAlone,  ///< kArm of phases with a single exchange
};

/// Returns `schedule` without kArm. A phase's exchanges keep the order of their kArm, so that
/// workers with either schedule pair the same exchanges.
[[nodiscard]] std::vector<Instruction> unarmed(const std::vector<Instruction>& schedule,
                                               Armed kept = Armed::kNone);

}  // namespace gangway::pipeline
