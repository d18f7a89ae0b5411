// SPDX-License-Identifier: MIT
// Lists the snapshots in a host's memory by run: bytes, age, and whether the run can go on. Called
// by a worker's start (through reap_snapshots()), by `gangway snapshots`, `gangway doctor` and
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

/// What a failed run left in memory is kept so long after its last sign of life: over a weekend and
/// a few days of leave. Later it costs the steps since the newest checkpoint, and not a bit.
inline constexpr std::chrono::hours kSnapshotsKept = std::chrono::days{7};

/// When something last changed in a run's directory, or in the slot `file` itself. A training
/// writes its figures with each tick.
[[nodiscard]] std::filesystem::file_time_type last_sign_of_life(
    const std::filesystem::path& run_directory, const std::filesystem::path& file);

/// The slots of one run in one folder.
struct RunSnapshots {
  std::filesystem::path run_directory;
  std::size_t files = 0;
  std::size_t bytes = 0;
  std::optional<std::int64_t> newest_step;  ///< of a whole slot, where there is one
  bool is_in_use = false;                   ///< a living process has one of them
  std::filesystem::file_time_type last_sign{};
};

/// Another user's slots: they cannot be read.
struct ForeignSnapshots {
  uid_t user = 0;
  std::size_t files = 0;
  std::size_t bytes = 0;
};

struct SnapshotSurvey {
  std::vector<RunSnapshots> runs;  ///< those that take most first
  std::vector<ForeignSnapshots> foreign;
};

/// What lies in `folder`; changes nothing. Slots without a sound header are left out: they are
/// reaped.
[[nodiscard]] SnapshotSurvey survey_snapshots(const std::filesystem::path& folder);

/// Removes from `folders` the slots of a run, of any job and layout, that no living process has.
/// @pre the caller holds the run's lock, so no start is about to read them. @return what went.
RunSnapshots remove_run_snapshots(const std::vector<std::filesystem::path>& folders,
                                  const std::filesystem::path& run_directory);

/// "3 h": in the largest unit of which there are two.
[[nodiscard]] std::string duration_text(std::chrono::seconds duration);

}  // namespace gangway::checkpoint
