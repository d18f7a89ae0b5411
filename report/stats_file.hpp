// SPDX-License-Identifier: MIT
// Writes stats.jsonl: one JSON object per tick and per scored checkpoint. Read by plots and
// scripts. Owned by the coordinator; one thread at a time.
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

/// The last tick that a resume keeps in stats.jsonl, so that times and ticks continue from it.
struct StatsPosition {
  std::int64_t index = 0;
  double seconds_total = 0;
};

/// Scores of a checkpoint: {"step": 100, "kimg": 6.4, "scores": {"SWD": 12.3}}.
struct StatsScores {
  std::int64_t step = 0;
  double kimg = 0.0;
  std::vector<std::pair<std::string, double>> scores{};  ///< by name, the ranking score first
};

class StatsFile {
 public:
  /// Opens `path` to append, made if missing. First cuts off lines of steps after `resumed_step`,
  /// which will be trained again, and damaged lines at the end (a crash may cut the last one).
  /// @param resumed_step  steps already done: 0 at a fresh start.
  /// @throws EnvironmentError naming the path.
  StatsFile(std::filesystem::path path, std::int64_t resumed_step);

  /// Returns the position of the last line kept; nothing if there is none.
  [[nodiscard]] const std::optional<StatsPosition>& last_kept() const { return last_kept_; }

  /// Appends and flushes one line. @throws EnvironmentError (disk full).
  void append(const Tick& tick);
  void append(const StatsScores& scores);

 private:
  std::filesystem::path path_;
  UniqueFile file_;
  std::optional<StatsPosition> last_kept_;
};

}  // namespace gangway::report
