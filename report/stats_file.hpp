// SPDX-License-Identifier: MIT
// stats.jsonl: one JSON object a tick, for plots and scripts. Owned by the coordinator; used on one
// thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "report/tick.hpp"
#include "report/unique_file.hpp"

namespace gangway::report {

/// The last tick of stats.jsonl that is kept on a resume, so that times and ticks go on counting.
struct StatsPosition {
  std::int64_t index = 0;
  double seconds_total = 0;
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

 private:
  std::filesystem::path path_;
  UniqueFile file_;
  std::optional<StatsPosition> last_kept_;
};

}  // namespace gangway::report
