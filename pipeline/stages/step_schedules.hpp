// SPDX-License-Identifier: MIT
// Caches a worker's lists over the steps of a training. Steps differ only by the phases that run in
// them, so each list is made once. Compute thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {

class StepSchedules {
 public:
  /// @param shares  outlives this object
  explicit StepSchedules(const PassShares& shares) : shares_(shares) {}

  /// Returns step_schedule(); the reference stays valid.
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
  std::map<std::vector<bool>, std::vector<Instruction>> known_;  // key: by phase, whether it runs
};

}  // namespace gangway::pipeline
