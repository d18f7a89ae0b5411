// SPDX-License-Identifier: MIT
// `gangway snapshots ls|rm`: what runs keep in this host's memory, and freeing it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "checkpoint/snapshots/snapshot_runs.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace gangway::launch {

struct SnapshotOptions {
  std::string reference;
  std::filesystem::path outdir = "runs";
};

/// Adds `snapshots` with its verbs; `options` is filled by parsing.
void add_snapshot_commands(CLI::App& app, SnapshotOptions& options);

/// @return the exit code. @throws Error; EnvironmentError where a living process works in the run.
[[nodiscard]] int run_snapshot_command(const std::string& verb, const SnapshotOptions& options);

/// "up to step 480, 12.3 MiB in /dev/shm, last used 3 h ago, kept for another 7 days; to free it:
/// …/gangway snapshots rm /…/runs/00000-first", or that they are in use.
[[nodiscard]] std::string describe_snapshots(const checkpoint::RunSnapshots& run,
                                             const std::filesystem::path& folder,
                                             std::filesystem::file_time_type now);

/// A line for the user at the end of a run that may go on from what it left in memory; empty where
/// it left nothing, or another process still works at it.
[[nodiscard]] std::string kept_snapshots_note(const std::filesystem::path& run_directory,
                                              const std::filesystem::path& folder);

}  // namespace gangway::launch
