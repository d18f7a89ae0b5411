// SPDX-License-Identifier: MIT
// Decides when to save at a step that no interval marks: after checkpoint.every_seconds, and after
// a failed save. Pure; driven by RunCore.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.hpp"

namespace gangway::coordinator {

class SaveClock {
 public:
  static constexpr std::chrono::seconds kFirstPause{1};
  static constexpr std::chrono::seconds kLongestPause{64};

  /// @param interval  between checkpoints; zero: none by time
  explicit SaveClock(std::chrono::milliseconds interval) : interval_(interval) {}

  void set_interval(std::chrono::milliseconds interval) { interval_ = interval; }
  /// Restarts the interval: the job has begun, or a lease that saves was granted.
  void granted(TimePoint now);
  /// Schedules the next try after a pause that doubles with each failure in a row.
  void failed(int failures_in_a_row, TimePoint now);
  /// Whether to request a checkpoint now. Stays true until granted() is called.
  /// @param until_end  time to the job's end, which saves by itself. Shortly before it
  /// (kShareLeftToTheEnd) the interval requests nothing. Nothing: unknown
  [[nodiscard]] bool is_due(TimePoint now,
                            std::optional<std::chrono::duration<double>> until_end = {}) const;

 private:
  std::chrono::milliseconds interval_;
  std::optional<TimePoint> granted_;
  std::optional<TimePoint> retry_;
};

}  // namespace gangway::coordinator
