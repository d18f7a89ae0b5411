// SPDX-License-Identifier: MIT
// The coordinator's notion of time. Its state machines never read a clock: each input carries the
// time at which it came.
#pragma once

#include <chrono>

namespace gangway::coordinator {

using TimePoint = std::chrono::steady_clock::time_point;

}  // namespace gangway::coordinator
