// SPDX-License-Identifier: MIT
// Schedules when a run asks its left-out hosts again, and limits how often it is resized for hosts
// that answer. Pure; called by `gangway run`.
#pragma once

#include <algorithm>
#include <chrono>

namespace gangway::launch {

class HostReturns {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kLongest{10};        ///< between two checks
  static constexpr std::chrono::minutes kBetweenResizes{5};  ///< like a balance, costs a start

  /// @param first  time from a start to its first check; each later wait is twice as long
  explicit HostReturns(std::chrono::milliseconds first) : first_(first) {}

  /// Resets the waits at the beginning of a start.
  void begin(TimePoint now) {
    wait_ = std::min<std::chrono::milliseconds>(first_, kLongest);
    next_ = now + wait_;
  }
  /// True if it is time to ask the hosts; the next wait then begins.
  [[nodiscard]] bool is_due(TimePoint now) {
    if (now < next_) {
      return false;
    }
    wait_ = std::min<std::chrono::milliseconds>(2 * wait_, kLongest);
    next_ = now + wait_;
    return true;
  }
  /// True if the run may be resized now; the next pause then begins.
  [[nodiscard]] bool may_resize(TimePoint now) {
    if (now < next_resize_) {
      return false;
    }
    next_resize_ = now + kBetweenResizes;
    return true;
  }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds wait_{0};
  TimePoint next_{};
  TimePoint next_resize_{};
};

}  // namespace gangway::launch
