// SPDX-License-Identifier: MIT
// When a checkpoint is to be asked for that no step is marked for: checkpoint.every_seconds, and
// another try after a save that failed. Pure; driven by the Conductor.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.hpp"

namespace gangway::coordinator {

class SaveClock {
 public:
  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{64};

  /// @param interval  zero: none is asked for by time
  explicit SaveClock(std::chrono::milliseconds interval) : interval_(interval) {}

  void set_interval(std::chrono::milliseconds interval) { interval_ = interval; }
  /// The job has begun, or a lease that saves went out.
  void granted(TimePoint now);
  /// A save has failed: the next try comes after a pause that doubles with each failure in a row.
  void failed(int failures_in_a_row, TimePoint now);
  /// Whether one is to be asked for, until it is granted.
  /// @param until_end  until the job ends, which saves by itself: what the interval asks for
  /// shortly before (kShareLeftToTheEnd) is left to that; nothing: unknown
  [[nodiscard]] bool is_due(TimePoint now,
                            std::optional<std::chrono::duration<double>> until_end = {}) const;

 private:
  std::chrono::milliseconds interval_;
  std::optional<TimePoint> granted_;
  std::optional<TimePoint> retry_;
};

}  // namespace gangway::coordinator
