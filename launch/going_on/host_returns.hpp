// SPDX-License-Identifier: MIT
// When a run asks its left-out hosts again, and how often it is resized for hosts that answer.
// Pure; driven by `gangway run`.
#pragma once

#include <algorithm>
#include <chrono>

namespace gangway::launch {

class HostReturns {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::minutes kLongest{10};        ///< between two questions
  static constexpr std::chrono::minutes kBetweenResizes{5};  ///< a start each: as for a balance

  /// @param first  time from a start to its first question; each later wait is twice as long
  explicit HostReturns(std::chrono::milliseconds first) : first_(first) {}

  /// A start begins.
  void begin(TimePoint now) {
    wait_ = std::min<std::chrono::milliseconds>(first_, kLongest);
    next_ = now + wait_;
  }
  /// Whether hosts are to be asked now; that counts as having asked them.
  [[nodiscard]] bool is_due(TimePoint now) {
    if (now < next_) {
      return false;
    }
    wait_ = std::min<std::chrono::milliseconds>(2 * wait_, kLongest);
    next_ = now + wait_;
    return true;
  }
  /// Whether the run may be resized now; that counts as having resized it.
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
