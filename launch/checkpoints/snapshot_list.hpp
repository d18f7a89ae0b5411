// SPDX-License-Identifier: MIT
// `gangway snapshots ls RUN`: lists the snapshots of one run in this host's memory, as a start
// finds them. Read-only. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"

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

}  // namespace gangway::launch
