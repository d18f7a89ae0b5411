// SPDX-License-Identifier: MIT
// `gangway snapshots ls|rm`: what runs keep in this host's memory, and freeing it.
#pragma once

#include <filesystem>
#include <string>

#include "checkpoint/snapshots/snapshot_runs.hpp"
#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_snapshot_commands(CLI::App& app, CommandLine& line);

/// "up to step 480, 12.3 MiB in /dev/shm, last used 3 h ago, kept for another 7 days; to free it:
/// …/gangway snapshots rm /…/runs/00000-first", or that they are in use.
[[nodiscard]] std::string describe_snapshots(const checkpoint::RunSnapshots& run,
                                             const std::filesystem::path& folder,
                                             std::filesystem::file_time_type now);

/// A line for the user at the end of a run that may go on from what it left in memory; empty where
/// it left nothing, or another process still works at it.
[[nodiscard]] std::string kept_snapshots_note(const std::filesystem::path& run_directory,
                                              const std::filesystem::path& folder);

/// Copies what the run has in this host's memory to its directory: a line on what was copied, or
/// empty. @pre none of its processes lives. @throws EnvironmentError
[[nodiscard]] std::string keep_snapshots(const std::filesystem::path& run_directory);

}  // namespace gangway::launch
