// SPDX-License-Identifier: MIT
#include "coordinator/core/snapshot_tracker.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace gangway::coordinator {

SnapshotTracker::SnapshotTracker(int num_workers, std::int64_t start_step, const SnapshotPace& pace)
    : start_step_(start_step),
      pace_(pace),
      newest_(static_cast<std::size_t>(num_workers)),
      copied_(newest_),
      tried_(newest_),
      last_(start_step) {}

void SnapshotTracker::taken(WorkerIndex worker, std::optional<std::int64_t> step, double seconds) {
  if (step <= start_step_) {
    return;
  }
  newest_.set(worker.place(), step);
  cost_ = std::max(cost_, seconds);
  if (!has_buddies_) {
    complete(newest_);
  }
}

void SnapshotTracker::copied(WorkerIndex worker, std::optional<std::int64_t> step,
                             std::optional<std::int64_t> tried) {
  tried_.set(worker.place(), tried);
  if (step > start_step_) {
    copied_.set(worker.place(), step);
    complete(copied_);
  }
}

void SnapshotTracker::complete(const Newest& newest) {
  // A worker without room for a snapshot names the next, so only equal newest steps are complete.
  if (newest.least() == newest.greatest()) {
    complete_ = std::max(complete_, newest.least());
  }
}

std::int64_t SnapshotTracker::interval() const {
  if (pace_.every != SnapshotPace::kAuto) {
    return pace_.every;
  }
  if (cost_ <= 0.0 || step_seconds_ <= 0.0) {
    return kFirstSteps;
  }
  double seconds = cost_ / kMostOverhead;
  if (pace_.losses > 0) {
    const double young = std::sqrt(2.0 * cost_ * seconds_between_losses());
    seconds = std::min(seconds, std::max(young, cost_ / pace_.most_cost));
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(seconds / step_seconds_)));
}

double SnapshotTracker::seconds_between_losses() const {
  return (pace_.watched_seconds + running_seconds_) / pace_.losses;
}

std::string SnapshotTracker::news() {
  if (is_reported_ || pace_.losses == 0 || pace_.every != SnapshotPace::kAuto || cost_ <= 0.0 ||
      step_seconds_ <= 0.0) {
    return {};
  }
  is_reported_ = true;
  const std::int64_t steps = interval();
  return fmt::format(
      "note   a snapshot every {} step{}, {:.1f} s, {:.1f} % of the time: {} loss{} so far, one in "
      "{:.0f} s",
      steps, steps == 1 ? "" : "s", static_cast<double>(steps) * step_seconds_,
      100.0 * cost_ / (static_cast<double>(steps) * step_seconds_), pace_.losses,
      pace_.losses == 1 ? "" : "es", seconds_between_losses());
}

std::vector<std::int64_t> SnapshotTracker::due(std::int64_t begin, std::int64_t end, bool saves) {
  std::vector<std::int64_t> steps;
  const std::int64_t every = interval();
  const bool is_free = !has_buddies_ || tried_.least() >= copying_;
  for (std::int64_t step = std::max(begin + 1, last_ + every); every > 0 && is_free && step <= end;
       step += every) {
    steps.push_back(step);
    last_ = step;
    copying_ = step;
    if (has_buddies_) {
      break;  // the next is due when buddies have this one
    }
  }
  if (saves) {
    last_ = std::max(last_, end);
  }
  return steps;
}

}  // namespace gangway::coordinator
