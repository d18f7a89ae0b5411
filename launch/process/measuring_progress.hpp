// SPDX-License-Identifier: MIT
// Shows progress and remaining time of a measurement: a bar at the bottom of a terminal, else a
// line now and then. Called by `gangway profile`, main thread.
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

  /// @param total    number of work units, each of about the same duration
  /// @param columns  width of the terminal; 0: `out` is no terminal. `out` must outlive this object
  MeasuringProgress(std::ostream& out, int columns, double total,
                    Clock clock = std::chrono::steady_clock::now);
  MeasuringProgress(const MeasuringProgress&) = delete;
  MeasuringProgress& operator=(const MeasuringProgress&) = delete;
  ~MeasuringProgress() { finish(); }  ///< keeps an error's line out of the bar

  /// Adds `units` done. @param next  current measurement: "2 workers, round 1 of 3"
  void advance(double units, const std::string& next);
  /// Raises the units done to `units` in all.
  void advance_to(double units, const std::string& next);
  /// Clears the bar before other output.
  void finish();

 private:
  std::ostream& out_;
  Clock clock_;
  double total_;
  double done_ = 0.0;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_at_;
  double shown_ = -1.0;  ///< fraction done at the last line
  std::optional<report::ProgressBar> bar_;
};

}  // namespace gangway::launch
