// SPDX-License-Identifier: MIT
// `gangway snapshots ls|rm`: lists and removes the snapshots that runs keep in this host's memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_runs.hpp"

namespace gangway::launch {

/// Returns a table, newest first: step, kimg, start and epoch, workers whose parts are here, size,
/// location, and whether a start on this host alone can resume from the snapshot.
/// @param entries  of one run. @param images_per_step  0: unknown
[[nodiscard]] std::string snapshot_table(std::span<const checkpoint::SnapshotEntry> entries,
                                         std::int64_t images_per_step);

/// Returns the table of a run directory under a line with run and host; one line if it is empty.
/// @throws CheckpointError if this version cannot read the job in the run directory
[[nodiscard]] std::string snapshot_list(
    const std::filesystem::path& run_directory,
    const std::filesystem::path& shared_memory = kSharedMemoryFolder);

/// Returns "up to step 480, 12.3 MiB in /dev/shm, last used 3 h ago, kept for another 7 days; to
/// free it: …/gangway snapshots rm /…/runs/00000-first", or says that they are in use.
[[nodiscard]] std::string describe_snapshots(const checkpoint::RunSnapshots& run,
                                             const std::filesystem::path& folder,
                                             std::filesystem::file_time_type now);

/// Returns a line for the user at the end of a run that can resume from snapshots in memory. Empty
/// if the run kept no snapshots, or if another process still uses them.
[[nodiscard]] std::string kept_snapshots_note(const std::filesystem::path& run_directory,
                                              const std::filesystem::path& folder);

/// Copies the run's snapshots from this host's memory to its directory. @return a line that lists
/// the copies, or empty. @pre no process of the run lives. @throws EnvironmentError
[[nodiscard]] std::string keep_snapshots(const std::filesystem::path& run_directory);

}  // namespace gangway::launch
