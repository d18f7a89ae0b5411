// SPDX-License-Identifier: MIT
#include "coordinator/steering/job_status.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

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

std::string wait_before_first_step(JobPhase phase, const std::vector<WorkerStatus>& workers) {
  if (phase == JobPhase::kTraining) {
    return "the first step";
  }
  if (phase != JobPhase::kStarting) {
    return {};
  }
  for (const auto& [state, what] : {std::pair("expected", "to start"),
                                    std::pair("joined", "to load networks, data and state")}) {
    std::vector<Rank> late;
    for (const WorkerStatus& worker : workers) {
      if (worker.state == state) {
        late.push_back(worker.rank);
      }
    }
    if (!late.empty()) {
      return fmt::format("rank {} {}", fmt::join(late, ", "), what);
    }
  }
  return "the workers' lifelines";
}

void mark_stragglers(std::vector<WorkerStatus>& workers) {
  if (workers.size() < 2) {
    return;
  }
  std::vector<double> all;
  for (const WorkerStatus& worker : workers) {
    all.push_back(worker.work_seconds_per_step);
  }
  std::ranges::sort(all);
  const std::size_t middle = (all.size() - 1) / 2;  // the median of all but one
  for (WorkerStatus& worker : workers) {
    const auto place = static_cast<std::size_t>(
        std::ranges::lower_bound(all, worker.work_seconds_per_step) - all.begin());
    const double others = all[place <= middle ? middle + 1 : middle];
    worker.is_straggler = others > 0.0 && worker.work_seconds_per_step > kStragglerFactor * others;
  }
}

}  // namespace gangway::coordinator
