// SPDX-License-Identifier: MIT
// Chooses the measured steps from the job alone, the same on all workers. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "job/spec.hpp"

namespace gangway::worker {

class FigureSteps {
 public:
  FigureSteps(const Job& job, const OutputSpec& output)
      : tick_steps_(std::max<std::int64_t>(1, job.steps_of_kimg(output.tick_kimg))),
        histogram_steps_(job.steps_of_kimg(output.histograms_kimg)),
        total_steps_(job.total_steps()) {}

  /// Returns whether updates of `step` (steps done before it) are measured for the tick that the
  /// next step ends. Updates of a tick's last step may not be finished when the tick is reported.
  [[nodiscard]] bool measures(std::int64_t step) const {
    const std::int64_t told = step + 2;
    return told % tick_steps_ == 0 || told == total_steps_;
  }
  /// Returns whether histograms are made of `step`.
  [[nodiscard]] bool has_histograms(std::int64_t step) const {
    return histogram_steps_ > 0 && (step + 1) % histogram_steps_ == 0;
  }

 private:
  std::int64_t tick_steps_;
  std::int64_t histogram_steps_;  // 0: none
  std::int64_t total_steps_;
};

}  // namespace gangway::worker
