// SPDX-License-Identifier: MIT
// The small files of a run directory (docs/run-directory.md). Only the coordinator and the
// supervisor write them, each atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"

namespace gangway {

/// How a run ended: what `gangway run` turns into its exit code, because mpirun rewrites codes.
struct RunStatus {
  int exit_code = 0;
  std::string reason;        ///< one line
  bool saved = false;        ///< all of its state is on the disk
  bool keeping = false;      ///< processes are still there, and copy snapshots to the disk
  bool rolled_back = false;  ///< the next start goes on from an earlier state: a decision says so
  std::vector<int> drained = {};  ///< ranks of workers that the next start goes on without
  int workers = 0;  ///< that the next start goes on with; 0: no other start was asked for
  std::vector<int> shares = {};  ///< their micro-batches; empty: as the job has them
  int lost = 0;                  ///< rank of the worker that was; 0: none, or it is not known
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
/// The job as `gangway run` has read it, which each of its starts trains; later edits are not its.
inline constexpr std::string_view kAskedFile = "asked.yaml";
inline constexpr std::string_view kCommandFile = "command.txt";
inline constexpr std::string_view kPlacementFile = "placement.json";
inline constexpr std::string_view kStatusFile = "status.json";
inline constexpr std::string_view kErrorFile = "error.json";
inline constexpr std::string_view kLockFile = "lock";
inline constexpr std::string_view kLogsFolder = "logs";
inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

/// Each @throws EnvironmentError: one line with the path and the remedy.
void write_job(const std::filesystem::path& run, std::string_view yaml);
void write_command(const std::filesystem::path& run, std::string_view command);
void write_placement(const std::filesystem::path& run, const std::vector<PlacedRank>& ranks);
void write_status(const std::filesystem::path& run, const RunStatus& status);

/// The status of an earlier or just ended attempt; nothing if there is none or it is damaged.
[[nodiscard]] std::optional<RunStatus> read_status(const std::filesystem::path& run);
/// Forgets how the attempt before ended (status.json, error.json): called when a job starts.
/// @throws EnvironmentError
void clear_status(const std::filesystem::path& run);

}  // namespace gangway
