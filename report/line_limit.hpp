// SPDX-License-Identifier: MIT
// Limits how many lines of the user's Python output go to a log, because each costs a write. Called
// by the worker's compute thread; pure.
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
  static constexpr double kAtOnce = 1000.0;  ///< enough for a network that prints itself
  static constexpr double kEachSecond = 100.0;

  /// Counts a line. @return how many lines were dropped since the last accepted line; nothing if
  /// this line must be dropped
  [[nodiscard]] std::optional<std::int64_t> take(TimePoint now) {
    const std::chrono::duration<double> since = now - std::exchange(last_, now);
    tokens_ = std::min(kAtOnce, tokens_ + since.count() * kEachSecond);
    if (tokens_ < 1.0) {
      ++left_out_;
      return std::nullopt;
    }
    tokens_ -= 1.0;
    return std::exchange(left_out_, 0);
  }

 private:
  double tokens_ = kAtOnce;
  TimePoint last_{};
  std::int64_t left_out_ = 0;
};

}  // namespace gangway::report
