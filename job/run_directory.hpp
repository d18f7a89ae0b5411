// SPDX-License-Identifier: MIT
// Where a run keeps what it leaves: `OUTDIR/00003-NAME/` and the small files in it
// (docs/run-directory.md).
//
// Chosen by `gangway run` or, under a bare mpirun, by the coordinator; only the coordinator and the
// supervisor write the files named here. Everything is written atomically.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/errors.hpp"
#include "job/file_descriptor.hpp"
#include "job/microbatch_ranges.hpp"

namespace gangway {

/// A valid run name made from the job file's stem; `job` where nothing usable is left.
[[nodiscard]] std::string run_name_of(const std::filesystem::path& job_file);

/// @throws ConfigError unless `name` is 1 to 64 of A-Z a-z 0-9 . _ - and does not begin with a dot.
void require_run_name(const std::string& name);

/// The newest directory of the run `name` (`NAME` or `00003-NAME`), absolute; nothing if there is
/// none.
[[nodiscard]] std::optional<std::filesystem::path> find_run(const std::filesystem::path& outdir,
                                                            const std::string& name);

/// How long another start may be choosing in the same folder.
inline constexpr std::chrono::milliseconds kChoosingPatience{30'000};

/// Makes `OUTDIR/NNNNN-NAME`, one above the highest number there, and returns it, absolute.
/// @throws ConfigError for a bad name, EnvironmentError if it cannot be made, or not in time.
[[nodiscard]] std::filesystem::path create_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

/// The run's existing directory, else a new one: what `--run NAME` means.
[[nodiscard]] std::filesystem::path open_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

/// Held while a job works in a run directory; released by the kernel when the process dies, however
/// it dies.
class RunLock {
 public:
  /// @throws EnvironmentError that names the holder's pid and host, if another process has it.
  explicit RunLock(const std::filesystem::path& run_directory);

 private:
  FileDescriptor file_;
};

/// How a run ended: what `gangway run` turns into its exit code, because mpirun rewrites codes.
struct RunStatus {
  int exit_code = 0;
  std::string reason;    ///< one line
  bool keeping = false;  ///< processes are still there, and copy snapshots to the disk
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
};

/// Names in a run directory.
inline constexpr std::string_view kJobFile = "job.yaml";
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
