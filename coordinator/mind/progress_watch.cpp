// SPDX-License-Identifier: MIT
#include "coordinator/mind/progress_watch.hpp"

#include <algorithm>

namespace gangway::coordinator {
namespace {

constexpr double kMedians = 20.0;
// What is worth a word: longer than a busy machine's hiccups.
constexpr double kNotableMedians = 3.0;
constexpr std::chrono::milliseconds kNotable{2000};
// The first step loads libraries, tunes kernels and fills caches.
constexpr int kFloorsBeforeFirstStep = 10;

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * seconds));
}

}  // namespace

ProgressWatch::ProgressWatch(int num_workers, std::int64_t start_step,
                             std::chrono::milliseconds floor)
    : floor_(floor) {
  for (int rank = 1; rank <= num_workers; ++rank) {
    done_[rank] = start_step;
  }
}

void ProgressWatch::stepped(int rank, std::int64_t step, TimePoint now) {
  done_[rank] = step;
  since_[rank] = now;
}

void ProgressWatch::granted(std::int64_t begin, TimePoint now) {
  for (const auto& [rank, done] : done_) {
    if (done >= begin) {
      since_[rank] = now;
    }
  }
}

void ProgressWatch::lively(TimePoint now) {
  for (auto& [rank, since] : since_) {
    since = now;
  }
}

void ProgressWatch::forgive(std::chrono::steady_clock::duration gap, TimePoint now) {
  for (auto& [rank, since] : since_) {
    since = std::min(since + gap, now);
  }
}

std::int64_t ProgressWatch::fastest_done() const {
  return std::ranges::max_element(done_, {}, [](const auto& entry) { return entry.second; })
      ->second;
}

std::int64_t ProgressWatch::slowest_done() const {
  return std::ranges::min_element(done_, {}, [](const auto& entry) { return entry.second; })
      ->second;
}

std::chrono::milliseconds ProgressWatch::deadline(double median_step_seconds) const {
  return median_step_seconds > 0.0
             ? std::max(floor_, milliseconds_of(kMedians * median_step_seconds))
             : floor_ * kFloorsBeforeFirstStep;
}

std::chrono::milliseconds ProgressWatch::notable(double median_step_seconds) const {
  return median_step_seconds > 0.0
             ? std::max(kNotable, milliseconds_of(kNotableMedians * median_step_seconds))
             : deadline(median_step_seconds);
}

}  // namespace gangway::coordinator
