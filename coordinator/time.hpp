// SPDX-License-Identifier: MIT
// The coordinator's notion of time. Its state machines never read a clock: each input carries the
// time at which it came.
#pragma once

#include <chrono>

namespace gangway::coordinator {

using TimePoint = std::chrono::steady_clock::time_point;

inline double seconds(TimePoint::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace gangway::coordinator
