// SPDX-License-Identifier: MIT
// `gangway snapshots ls RUN`: the snapshots of one run that this host keeps, as a start would find
// them. Text out, nothing changed. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"

namespace gangway::launch {

/// Table, newest first: step, kimg, start and epoch, which workers' parts are here, size, where
/// they lie, and whether a start on this host alone can go on from it. @param entries  of one run
/// @param images_per_step  0: not known
[[nodiscard]] std::string snapshot_table(std::span<const checkpoint::SnapshotEntry> entries,
                                         std::int64_t images_per_step);

/// The same of a run directory, under a line that names run and host; one line where there is none.
/// @throws CheckpointError where the run directory holds a job that this version does not know
[[nodiscard]] std::string snapshot_list(
    const std::filesystem::path& run_directory,
    const std::filesystem::path& shared_memory = kSharedMemoryFolder);

}  // namespace gangway::launch
