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

namespace gangway {

/// How a run ended. `gangway run` takes its exit code from here, because mpirun rewrites codes.
struct RunStatus {
  int exit_code = 0;
  std::string reason;             ///< one line
  bool saved = false;             ///< the run's whole state is on the disk
  bool keeping = false;           ///< processes still live and copy snapshots to the disk
  bool rolled_back = false;       ///< a decision makes the next start resume from an earlier state
  std::vector<int> drained = {};  ///< ranks of workers that the next start leaves out
  int workers = 0;                ///< workers of the next start; 0: no next start was requested
  std::vector<int> shares = {};   ///< micro-batches of each of them; empty: as the job says
  int lost = 0;                   ///< rank of the lost worker; 0: none, or unknown
  bool operator==(const RunStatus&) const = default;
};

/// One process of the job.
struct PlacedRank {
  int rank = 0;
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
void write_status(const std::filesystem::path& run, const RunStatus& status);

/// Returns the status that the last start left; nothing if there is none or it is damaged.
[[nodiscard]] std::optional<RunStatus> read_status(const std::filesystem::path& run);
/// Removes the last start's status.json and error.json. Called when a job starts.
/// @throws EnvironmentError
void clear_status(const std::filesystem::path& run);

}  // namespace gangway
