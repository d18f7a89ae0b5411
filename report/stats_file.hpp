// SPDX-License-Identifier: MIT
// stats.jsonl: one JSON object a tick, and one for each checkpoint that was scored, for plots and
// scripts. Owned by the coordinator; used on one
// thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/tick.hpp"
#include "report/unique_file.hpp"

namespace gangway::report {

/// The last tick of stats.jsonl that is kept on a resume, so that times and ticks go on counting.
struct StatsPosition {
  std::int64_t index = 0;
  double seconds_total = 0;
};

/// Of a checkpoint: {"step": 100, "kimg": 6.4, "scores": {"SWD": 12.3}}.
struct StatsScores {
  std::int64_t step = 0;
  double kimg = 0.0;
  std::vector<std::pair<std::string, double>> scores{};  ///< by name, the one that decides first
};

class StatsFile {
 public:
  /// Opens `path` to append, made if missing. Lines of steps beyond `resumed_step` (they will be
  /// trained again), and everything from the first line that is damaged (a crash may cut the last
  /// one), are cut off first.
  /// @param resumed_step steps already done: 0 at a fresh start.
  /// @throws EnvironmentError naming the path.
  StatsFile(std::filesystem::path path, std::int64_t resumed_step);

  /// Of the last line kept; nothing if there is none.
  [[nodiscard]] const std::optional<StatsPosition>& last_kept() const { return last_kept_; }

  /// Appends one line, which other processes see at once. @throws EnvironmentError (disk full).
  void append(const Tick& tick);
  void append(const StatsScores& scores);

 private:
  std::filesystem::path path_;
  UniqueFile file_;
  std::optional<StatsPosition> last_kept_;
};

}  // namespace gangway::report
