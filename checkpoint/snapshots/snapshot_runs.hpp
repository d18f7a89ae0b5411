// SPDX-License-Identifier: MIT
// Lists the snapshots in a host's memory by run: bytes, age, whether the run can be resumed. Called
// by a worker's start (through reap_snapshots()), `gangway snapshots`, `gangway doctor` and
// `gangway run`. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gangway::checkpoint {

/// Time that snapshots of a failed run stay after its last sign of life: a weekend and some days.
/// Reaping costs the steps since the newest checkpoint; the resumed run stays bit-identical.
inline constexpr std::chrono::hours kSnapshotsKept = std::chrono::days{7};

/// Returns the time of the last change in a run's directory or in the slot `file`. A running
/// training writes its figures there at each tick.
[[nodiscard]] std::filesystem::file_time_type last_sign_of_life(
    const std::filesystem::path& run_directory, const std::filesystem::path& file);

/// The slots of one run in one folder.
struct RunSnapshots {
  std::filesystem::path run_directory;
  std::size_t files = 0;
  std::size_t bytes = 0;
  std::optional<std::int64_t> newest_step;  ///< of complete slots; empty if there is none
  bool is_in_use = false;                   ///< a living process owns a slot
  std::filesystem::file_time_type last_sign{};
};

/// Another user's slots, which this user cannot read.
struct ForeignSnapshots {
  uid_t user = 0;
  std::size_t files = 0;
  std::size_t bytes = 0;
};

struct SnapshotSurvey {
  std::vector<RunSnapshots> runs;  ///< sorted by bytes, largest first
  std::vector<ForeignSnapshots> foreign;
};

/// Lists the snapshots in `folder`; changes nothing. Skips slots with an unsound header, because
/// reap_snapshots() removes them.
[[nodiscard]] SnapshotSurvey survey_snapshots(const std::filesystem::path& folder);

/// Removes a run's slots from `folders`, of any job and layout, except slots of living processes.
/// @pre the caller holds the run's lock, so no start reads them now. @return the removed slots.
RunSnapshots remove_run_snapshots(const std::vector<std::filesystem::path>& folders,
                                  const std::filesystem::path& run_directory);

/// Returns "3 h": the duration in the largest unit of which it has at least two.
[[nodiscard]] std::string duration_text(std::chrono::seconds duration);

}  // namespace gangway::checkpoint
