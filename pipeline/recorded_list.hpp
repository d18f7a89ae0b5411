// SPDX-License-Identifier: MIT
// Lowers a schedule for recorded steps: each stretch of computing becomes one instruction that
// replays it (worker/step/step_graphs.hpp). An exchange begins when all gradients of its phase are
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

/// Stretches that a recording may join.
enum class Stretches {
  kLong,    ///< from exchange to exchange
  kByCall,  ///< a kForward begins a new one: the user's own step is seeded before each call
};

struct RecordedList {
  std::vector<Instruction> list;                    ///< of kPlay, kReduce and kAwait
  std::vector<std::vector<Instruction>> stretches;  ///< at most one kArm in each
};

/// Returns unarmed() with each stretch of computing replaced by one kPlay.
[[nodiscard]] RecordedList recorded(const std::vector<Instruction>& schedule, Armed kept,
                                    Stretches stretches);

}  // namespace gangway::pipeline
