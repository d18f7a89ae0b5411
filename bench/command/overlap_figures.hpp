// SPDX-License-Identifier: MIT
// What one measured run tells of its steps. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace gangway::bench {

/// Of one run, per step.
struct StepFigures {
  double seconds = 0.0;          ///< median over its ticks
  double exposed_seconds = 0.0;  ///< compute waiting for communication, worst worker, mean
  double sent_bytes = 0.0;       ///< payload of all workers, mean
};

/// @param stats  a run's stats.jsonl; ticks that begin before step `warmup_steps` do not count.
/// @throws EnvironmentError where none is left, or a line is none of a tick.
[[nodiscard]] StepFigures step_figures(std::string_view stats, std::int64_t warmup_steps);

}  // namespace gangway::bench
