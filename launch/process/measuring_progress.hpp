// SPDX-License-Identifier: MIT
// How far a measurement of minutes has come, and how long it still takes: a bar at the bottom of a
// terminal, else a line now and then. Used by `gangway profile`, `tune` and `bench job`, main
// thread.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

#include "report/progress_bar.hpp"

namespace gangway::launch {

class MeasuringProgress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// @param total    units of work, of whatever kind, that take about the same time each
  /// @param columns  width of the terminal; 0: `out` is none. `out` outlives this.
  MeasuringProgress(std::ostream& out, int columns, double total,
                    Clock clock = std::chrono::steady_clock::now);
  MeasuringProgress(const MeasuringProgress&) = delete;
  MeasuringProgress& operator=(const MeasuringProgress&) = delete;
  ~MeasuringProgress() { finish(); }  ///< an error's line is not in the middle of a bar

  /// So many units more are done. @param next  what is measured now: "2 workers, round 1 of 3"
  void advance(double units, const std::string& next);
  /// The same where up to `units` in all are done.
  void advance_to(double units, const std::string& next);
  /// Nothing is in the way of what is printed next.
  void finish();

 private:
  std::ostream& out_;
  Clock clock_;
  double total_;
  double done_ = 0.0;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_at_;
  double shown_ = -1.0;  ///< share of the last line
  std::optional<report::ProgressBar> bar_;
};

}  // namespace gangway::launch
