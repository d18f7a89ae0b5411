// SPDX-License-Identifier: MIT
#include "coordinator/core/save_clock.hpp"

#include <algorithm>

#include "coordinator/core/lease_book.hpp"

namespace gangway::coordinator {

void SaveClock::granted(TimePoint now) {
  granted_ = now;
  retry_.reset();
}

void SaveClock::failed(int failures_in_a_row, TimePoint now) {
  std::chrono::seconds pause = kFirstPause;
  for (int failure = 1; failure < failures_in_a_row && pause < kLongestPause; ++failure) {
    pause *= 2;
  }
  retry_ = now + std::min(pause, kLongestPause);
}

bool SaveClock::is_due(TimePoint now,
                       std::optional<std::chrono::duration<double>> until_end) const {
  const bool ends_soon = until_end && *until_end < kShareLeftToTheEnd * interval_;
  const bool is_time =
      interval_.count() > 0 && granted_ && now - *granted_ >= interval_ && !ends_soon;
  return is_time || (retry_ && now >= *retry_);
}

}  // namespace gangway::coordinator
