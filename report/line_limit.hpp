// SPDX-License-Identifier: MIT
// How many lines of what the user's Python prints become lines of a log: each costs a write. Pure;
// used by the worker on the thread that computes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace gangway::report {

class LineLimit {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr double kAtOnce = 1000.0;  ///< a network that prints itself
  static constexpr double kEachSecond = 100.0;

  /// A line comes. @return how many have been left out since the last one that was taken; nothing:
  /// this one is left out, too
  [[nodiscard]] std::optional<std::int64_t> take(TimePoint now) {
    const std::chrono::duration<double> since = now - std::exchange(last_, now);
    room_ = std::min(kAtOnce, room_ + since.count() * kEachSecond);
    if (room_ < 1.0) {
      ++left_out_;
      return std::nullopt;
    }
    room_ -= 1.0;
    return std::exchange(left_out_, 0);
  }

 private:
  double room_ = kAtOnce;
  TimePoint last_{};
  std::int64_t left_out_ = 0;
};

}  // namespace gangway::report
