// SPDX-License-Identifier: MIT
#include "coordinator/mind/snapshot_book.hpp"

#include <algorithm>
#include <cmath>

namespace gangway::coordinator {

SnapshotBook::SnapshotBook(int num_workers, std::int64_t start_step, std::int64_t every)
    : start_step_(start_step),
      every_(every),
      newest_(static_cast<std::size_t>(num_workers)),
      copied_(newest_),
      tried_(newest_),
      last_(start_step) {}

void SnapshotBook::taken(int worker, std::optional<std::int64_t> step, double seconds) {
  if (step <= start_step_) {
    return;
  }
  newest_.at(static_cast<std::size_t>(worker)) = step;
  cost_ = std::max(cost_, seconds);
  if (!has_buddies_) {
    complete(newest_);
  }
}

void SnapshotBook::copied(int worker, std::optional<std::int64_t> step,
                          std::optional<std::int64_t> tried) {
  tried_.at(static_cast<std::size_t>(worker)) = tried;
  if (step > start_step_) {
    copied_.at(static_cast<std::size_t>(worker)) = step;
    complete(copied_);
  }
}

void SnapshotBook::complete(const Newest& newest) {
  // Each worker has all up to its newest, or had no room: then it names the next one.
  const std::optional<std::int64_t> least = *std::ranges::min_element(newest);
  if (least == *std::ranges::max_element(newest)) {
    complete_ = std::max(complete_, least);
  }
}

std::int64_t SnapshotBook::interval() const {
  if (every_ != kAuto) {
    return every_;
  }
  if (cost_ <= 0.0 || step_seconds_ <= 0.0) {
    return kFirstSteps;
  }
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(cost_ / (kMostOverhead * step_seconds_))));
}

std::vector<std::int64_t> SnapshotBook::due(std::int64_t begin, std::int64_t end, bool saves) {
  std::vector<std::int64_t> steps;
  const std::int64_t every = interval();
  if (has_buddies_) {
    const std::int64_t step = std::max(begin + 1, last_ + every);
    const bool is_free = *std::ranges::min_element(tried_) >= copying_;
    if (every > 0 && is_free && step <= end) {
      steps.push_back(step);
      last_ = step;
      copying_ = step;
    }
  } else if (every > 0) {
    for (std::int64_t step = std::max(begin + 1, last_ + every); step <= end; step += every) {
      steps.push_back(step);
      last_ = step;
    }
  }
  if (saves) {
    last_ = std::max(last_, end);
  }
  return steps;
}

}  // namespace gangway::coordinator
