// SPDX-License-Identifier: MIT
// What came about in a run, from the lines of its coordinator's log (logs/rank-0000.log). Pure, but
// for the time zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gangway::report {

/// Something that is worth a mark beside a run's curves.
struct RunEvent {
  std::optional<double> unix_seconds;
  std::optional<std::int64_t> step;
  std::string kind;  ///< start, resume, note, warning, score, checkpoint, picture, trace, end, ...
  std::string text;
};

/// Of a line of the log; nothing where it is a tick, a line of a table or unknown.
[[nodiscard]] std::optional<RunEvent> event_of_line(std::string_view line);

/// A score that such a line tells: "score  step 120  FD-LeNet 6.8123  best".
struct ToldScore {
  std::string metric;
  double value = 0;
};
[[nodiscard]] std::optional<ToldScore> told_score(const RunEvent& event);

/// The file that it says was drawn: "picture fakes000010.png of step 157".
[[nodiscard]] std::string told_picture(const RunEvent& event);

}  // namespace gangway::report
