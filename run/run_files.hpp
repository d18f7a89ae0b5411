// SPDX-License-Identifier: MIT
// Writes and reads the small files of a run directory (docs/run-directory.md). Only the coordinator
// and the supervisor write them, each atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "run/run_end.hpp"

namespace gangway {

/// One process of the job.
struct PlacedRank {
  Rank rank{};
  std::string role;  ///< coordinator, worker
  std::string host;
  std::int64_t pid = 0;
  std::string device;  ///< "cpu"; empty for the coordinator
  MicrobatchRange microbatches;
  std::string networks = {};  ///< Layout::held_by
};

/// Names in a run directory.
inline constexpr std::string_view kJobFile = "job.yaml";
/// The job as `gangway run` read it. All its starts train this, even if the user edits the job.
inline constexpr std::string_view kAskedFile = "asked.yaml";
inline constexpr std::string_view kCommandFile = "command.txt";
inline constexpr std::string_view kPlacementFile = "placement.json";
inline constexpr std::string_view kStatusFile = "status.json";
inline constexpr std::string_view kErrorFile = "error.json";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kLogsFolder = "logs";
inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

/// Write one file each. @throws EnvironmentError: one line with the path and the remedy.
void write_job(const std::filesystem::path& run, std::string_view yaml);
void write_command(const std::filesystem::path& run, std::string_view command);
void write_placement(const std::filesystem::path& run, const std::vector<PlacedRank>& ranks);
/// `gangway run` takes its exit code from the status, because mpirun rewrites codes.
void write_status(const std::filesystem::path& run, const RunEnd& end);

/// Returns the status that the last start left; nothing if there is none or it is damaged.
[[nodiscard]] std::optional<RunEnd> read_status(const std::filesystem::path& run);
/// Removes the last start's status.json and error.json. Called when a job starts.
/// @throws EnvironmentError
void clear_status(const std::filesystem::path& run);

}  // namespace gangway
