// SPDX-License-Identifier: MIT
// Parses a run's events from the lines of its coordinator's log (logs/rank-0000.log). Called by
// RunView. Pure, except for the time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::report {

/// An event to mark on a run's curves.
struct RunEvent {
  std::optional<double> unix_seconds;
  std::optional<std::int64_t> step;
  std::string kind;  ///< start, resume, note, warning, score, checkpoint, picture, trace, end, ...
  std::string text;
};

/// Parses a log line; nothing if it is a tick, a table's line or unknown.
[[nodiscard]] std::optional<RunEvent> event_of_line(std::string_view line);

/// The score in an event: "score  step 120  FD-LeNet 6.8123  best".
struct LoggedScore {
  std::string metric;
  double value = 0;
};
[[nodiscard]] std::optional<LoggedScore> logged_score(const RunEvent& event);

/// Returns the picture file named in an event: "picture fakes000010.png of step 157".
[[nodiscard]] std::string logged_picture(const RunEvent& event);

}  // namespace gangway::report
