// SPDX-License-Identifier: MIT
// A worker's lists of a training's steps: each is made once, steps differ only by the phases that
// run in them. Compute thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {

class StepSchedules {
 public:
  /// @param shares  outlives this
  explicit StepSchedules(const PassShares& shares) : shares_(shares) {}

  /// As step_schedule(); stays where it is.
  [[nodiscard]] const std::vector<Instruction>& of(std::int64_t step) {
    std::vector<bool> running;
    for (const Phase& phase : shares_.phases()) {
      running.push_back(runs_in(phase, step));
    }
    const auto [known, is_new] = known_.try_emplace(std::move(running));
    if (is_new) {
      known->second = step_schedule(shares_, step);
    }
    return known->second;
  }

 private:
  const PassShares& shares_;
  std::map<std::vector<bool>, std::vector<Instruction>> known_;  // by phase: whether it runs
};

}  // namespace gangway::pipeline
