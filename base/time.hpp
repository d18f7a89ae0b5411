// SPDX-License-Identifier: MIT
// Moments and durations. State machines never read a clock: each input carries the time at which it
// came.
#pragma once

#include <chrono>

namespace gangway {

using TimePoint = std::chrono::steady_clock::time_point;

inline double seconds(TimePoint::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Since 1970.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace gangway
