// SPDX-License-Identifier: MIT
// Prepares a start before the first message: reads and checks the job, opens and locks the run
// directory, finds the newest checkpoint. Called once by the coordinator's main().
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

/// Rank 0's request and environment.
struct StartOptions : StartRequest {
  std::map<std::string, std::string> environment;  ///< GANGWAY_… variables, of a bare mpirun
  bool is_one_host = false;  ///< all ranks are on this host and share its memory
  /// Whether the hosts' memory may be wiped, or other hosts take over, when the job ends.
  bool memory_may_go = false;

  /// Whether the start resumes the run's newest state; false: the user named a state, or none.
  [[nodiscard]] bool is_automatic() const { return resume == "auto" || resume == "must"; }
};

/// Receives one line for the user.
using Tell = std::function<void(const std::string&)>;

/// A run that is ready to start, or that is finished.
struct StartedRun {
  JobSpec spec;
  std::string job_yaml;
  std::filesystem::path directory;  ///< absolute
  RunLock lock;
  RunStart start{};  ///< ids of the run and of this start
  /// Newest checkpoint with a sound structure; loading verifies its contents.
  std::optional<checkpoint::Found> resume{};
  bool has_damaged_checkpoints = false;  ///< and none is sound: a new state would hide them
  TraceSteps trace{};
  int num_workers = 1;
  Decisions decisions{};    ///< of earlier starts
  std::int64_t end_step{};  ///< last step of the run
  /// Not empty: the other run's checkpoint that this run began with, if it has no checkpoint since.
  /// Its older checkpoints belong to another training.
  std::string begun_with{};
  std::vector<std::string> notes{};  ///< ResolvedJob::notes
  Restarts restarts{};               ///< of earlier starts
  bool goes_on = false;              ///< StartOptions::goes_on
  bool is_again = false;             ///< StartOptions::is_again
  bool replays = false;              ///< repeats another run's decisions, makes no others
  [[nodiscard]] bool is_finished() const { return resume && resume->step >= end_step; }
};

/// Reads and checks the job, chooses the run directory and locks it.
/// @param num_workers  W, from the size of MPI_COMM_WORLD
/// @throws ConfigError; EnvironmentError, also if another process uses the directory
[[nodiscard]] StartedRun open_job(const StartOptions& options, int num_workers);

/// Finds the newest checkpoint, and writes job.yaml and command.txt.
/// @param tell  receives notes: a damaged checkpoint was skipped, the job has changed
/// @throws CheckpointError, EnvironmentError.
void find_start(StartedRun& run, const StartOptions& options, const Tell& tell);

/// If the run began with another run's checkpoint, does not resume from its own older one. Sets
/// `begun_with` if no own checkpoint is left.
void keep_to_branch(StartedRun& run);

/// Writes status.json; if the disk fails, reports the exit code on standard error.
void try_write_status(const std::filesystem::path& run_directory, const RunEnd& end);

/// Returns advice for a run that has saved: the command that resumes it, or that the same one does.
[[nodiscard]] std::string go_on_advice(const StartOptions& options,
                                       const std::filesystem::path& run_directory);

}  // namespace gangway::coordinator
