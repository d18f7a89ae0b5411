// SPDX-License-Identifier: MIT
// Types and conversions for time. State machines never read a clock: each input carries the time of
// its arrival.
#pragma once

#include <chrono>

namespace gangway {

using TimePoint = std::chrono::steady_clock::time_point;

inline double seconds(TimePoint::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Returns the seconds since 1970.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace gangway
