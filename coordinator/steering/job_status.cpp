// SPDX-License-Identifier: MIT
#include "coordinator/steering/job_status.hpp"

#include <algorithm>
#include <cstddef>

namespace gangway::coordinator {

std::string_view name_of(JobPhase phase) {
  switch (phase) {
    case JobPhase::kStarting:
      return "starting";
    case JobPhase::kTraining:
      return "training";
    case JobPhase::kPausing:
      return "pausing";
    case JobPhase::kPaused:
      return "paused";
    case JobPhase::kStopping:
      return "stopping";
    case JobPhase::kEnded:
      return "ended";
  }
  return "unknown";
}

void mark_stragglers(std::vector<WorkerStatus>& workers) {
  for (WorkerStatus& worker : workers) {
    std::vector<double> others;
    for (const WorkerStatus& other : workers) {
      if (other.rank != worker.rank) {
        others.push_back(other.work_seconds_per_step);
      }
    }
    if (others.empty()) {
      return;
    }
    const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
    std::nth_element(others.begin(), middle, others.end());
    worker.is_straggler =
        *middle > 0.0 && worker.work_seconds_per_step > kStragglerFactor * *middle;
  }
}

}  // namespace gangway::coordinator
