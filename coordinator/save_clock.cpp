// SPDX-License-Identifier: MIT
#include "coordinator/save_clock.hpp"

#include <algorithm>

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

bool SaveClock::is_due(TimePoint now) const {
  const bool is_time = interval_.count() > 0 && granted_ && now - *granted_ >= interval_;
  return is_time || (retry_ && now >= *retry_);
}

}  // namespace gangway::coordinator
