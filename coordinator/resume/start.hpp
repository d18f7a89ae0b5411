// SPDX-License-Identifier: MIT
// What comes before the first message: the job is read and checked, the run directory opened and
// locked, the newest checkpoint found. Called once by the coordinator's main().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/store/scan.hpp"
#include "job/decisions.hpp"
#include "job/spec.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "run/run_start.hpp"
#include "run/start_request.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {

/// What rank 0 was asked for, and what it has found.
struct StartOptions : StartRequest {
  std::map<std::string, std::string> environment;  ///< GANGWAY_…, of a bare mpirun
  bool is_one_host = false;  ///< all ranks are on this host, and see its memory
  /// The hosts' memory may be wiped, or others take over, when the job ends.
  bool memory_may_go = false;
};

/// Receives one line for the user.
using Tell = std::function<void(const std::string&)>;

/// A run that may begin, or that has nothing left to do.
struct StartedRun {
  JobSpec spec;
  std::string job_yaml;
  std::filesystem::path directory;  ///< absolute
  RunLock lock;
  RunStart start{};  ///< which run, and which start of it
  /// The newest checkpoint whose structure is sound: its contents are verified as they are loaded.
  std::optional<checkpoint::Found> resume{};
  bool has_damaged_checkpoints = false;  ///< and no sound one: a new state would bury them
  TraceSteps trace{};
  int num_workers = 1;
  Decisions decisions{};    ///< of earlier starts
  std::int64_t end_step{};  ///< steps after which the run is over
  /// Not empty: with what checkpoint of another run this one was begun, and has none of its own
  /// since; what it may have been before is another training.
  std::string begun_with{};
  std::vector<std::string> notes{};  ///< ResolvedJob::notes
  Restarts restarts{};               ///< of earlier starts
  bool goes_on = false;              ///< StartOptions::goes_on
  bool is_again = false;             ///< StartOptions::is_again
  bool replays = false;  ///< it takes no decisions of its own: they are those of what it repeats
  [[nodiscard]] bool is_finished() const { return resume && resume->step >= end_step; }
};

/// Reads and checks the job, chooses the run directory and locks it.
/// @param num_workers W, from the size of MPI_COMM_WORLD.
/// @throws ConfigError; EnvironmentError, also when another process works in the directory.
[[nodiscard]] StartedRun open_job(const StartOptions& options, int num_workers);

/// Finds the newest checkpoint, and leaves job.yaml and command.txt.
/// @param tell receives notes: a damaged checkpoint passed over, a changed job.
/// @throws CheckpointError, EnvironmentError.
void find_start(StartedRun& run, const StartOptions& options, const Tell& tell);

/// Where the run has begun with a checkpoint of another one, an older one of its own is nothing to
/// go on with: takes it back, and fills in `begun_with` where there is none to go on with.
void keep_to_branch(StartedRun& run);

/// Writes status.json; where the disk fails, a line on standard error carries the exit code.
void try_write_status(const std::filesystem::path& run_directory, const RunStatus& status);

/// "the same command goes on", or which one does, of a run that has saved.
[[nodiscard]] std::string go_on_advice(const StartOptions& options,
                                       const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
