// SPDX-License-Identifier: MIT
#include "coordinator/core/progress_watch.hpp"

#include <algorithm>

namespace gangway::coordinator {
namespace {

constexpr double kMedians = 20.0;
// Thresholds for a note: longer than short stalls of a busy machine.
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
    : floor_(floor),
      done_(static_cast<std::size_t>(num_workers), start_step),
      since_(static_cast<std::size_t>(num_workers)) {}

void ProgressWatch::stepped(Rank rank, std::int64_t step, TimePoint now) {
  done_.set(place(rank), step);
  since_[place(rank)] = now;
}

void ProgressWatch::granted(std::int64_t begin, TimePoint now) {
  for (std::size_t place = 0; place < since_.size(); ++place) {
    if (done_[place] >= begin) {
      since_[place] = now;
    }
  }
}

void ProgressWatch::forgive(std::chrono::steady_clock::duration gap, TimePoint now) {
  for (std::optional<TimePoint>& since : since_) {
    if (since) {
      since = std::min(*since + gap, now);
    }
  }
  last_activity_ = std::min(last_activity_ + gap, now);
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
