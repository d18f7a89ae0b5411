// SPDX-License-Identifier: MIT
#include "launch/run/run_job.hpp"

#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/message_segments.hpp"
#include "base/system/output_check.hpp"
#include "base/system/poll_until.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/devices/settle_device.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/fit/fit_run.hpp"
#include "launch/mpirun/message_paths.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/run/restarts.hpp"
#include "launch/run/starts.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "run/run_start.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

// A run that was just killed holds its lock until its last process ends, about a second.
constexpr std::chrono::seconds kLockPatience{10};
constexpr std::chrono::milliseconds kLockRetry{200};

/// Waits until no process holds the run's lock, before the old status is removed. Later the
/// coordinator takes the lock for good.
void require_free(const fs::path& run) {
  std::string why;
  const bool is_free = poll_until(kLockPatience, kLockRetry, [&] {
    try {
      const RunLock probe(run);
      return true;
    } catch (const EnvironmentError& error) {
      if (std::exchange(why, error.what()).empty()) {
        std::cout << "note   " << why << "; waits for its end" << std::endl;
      }
      return false;
    }
  });
  if (!is_free) {
    throw EnvironmentError(why);
  }
}

/// True if the job would resume from an existing checkpoint.
bool goes_on(const RunOptions& options, const std::string& default_name) {
  if (options.resume != "auto" && options.resume != "must") {
    return options.resume != "never";
  }
  const auto run = find_run(options.outdir, options.name_or(default_name));
  return run && newest_checkpoint(*run).has_value();
}

/// Ends this process at once: nothing needs saving, and its children end with it.
extern "C" void leave_before_the_start(int /*signal*/) {
  constexpr std::string_view kLine =
      "gangway: stopped on request before the job had begun: the same command continues\n";
  (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(static_cast<int>(ExitCode::kPreempted));
}
extern "C" void go_on(int /*signal*/) {}

/// Handles signals until `supervise` takes over. Children do not inherit handlers.
void heed_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    if (std::signal(signal, leave_before_the_start) == SIG_IGN && signal == SIGHUP) {
      (void)std::signal(signal, SIG_IGN);  // nohup
    }
  }
  (void)std::signal(SIGUSR2, go_on);  // no effect yet: there is nothing to save
}

/// Removes an ended run's snapshots from memory if all is on disk; otherwise prints a note.
void settle_snapshots(const fs::path& run, const std::string& fingerprint, int code) {
  const auto status = read_status(run);
  // A run that left before its first step has saved nothing.
  if (code == static_cast<int>(ExitCode::kDone) || (status && status->saved)) {
    (void)checkpoint::remove_snapshots(checkpoint::snapshot_folders(run),
                                       checkpoint::snapshot_key(run, fingerprint, run_id_of(run)));
    return;
  }
  (void)checkpoint::reap_snapshots(kSharedMemoryFolder);  // of runs that have saved less
  if (const std::string note = kept_snapshots_note(run, kSharedMemoryFolder); !note.empty()) {
    std::cout << note << std::endl;
  }
}

/// Prints one line per note.
void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cout << "note   " << note << std::endl;
  }
}

int dry_run(const RunOptions& options, const Prepared& prepared) {
  require_initial_weights(prepared.job);
  tell_notes(prepared.read.notes);
  std::vector<std::string> settled;
  const JobSpec job = settled_job(options, prepared, &settled);
  for (const std::string& line : settled) {
    std::cout << line << '\n';
  }
  const int workers = prepared.where.workers;
  std::cout << describe_dry_run(job, workers, expected_memory(job, options.job_file, workers).rows)
            << (prepared.data.empty() ? "" : "Data: " + prepared.data + "\n") << std::flush;
  return static_cast<int>(ExitCode::kDone);
}

/// Returns the run directory after removing leftovers of an earlier start.
/// @throws ConfigError, EnvironmentError
fs::path claim_run(const RunOptions& options, const Prepared& prepared) {
  require_programs(prepared.job.numerics.device);
  require_network_interface();
  if (!goes_on(options, prepared.read.name)) {
    require_initial_weights(prepared.job);  // later starts use the checkpoints
  }
  fs::path run = run_of(options, prepared.read.name);
  require_free(run);
  clear_status(run);
  fs::remove(run / kPlacementFile);
  return run;
}

}  // namespace

int run_job(const RunOptions& asked, const Environment& environment,
            const std::vector<std::string>& typed) {
  heed_signals();
  if (asked.fit && !asked.hostfile.empty()) {
    throw ConfigError(
        "--fit measures on this machine: leave --hostfile out, and give -n as many "
        "workers as one host is to have");
  }
  Prepared prepared = prepare(asked, environment);
  if (asked.dry_run) {
    return dry_run(asked, prepared);
  }
  if (asked.fit) {
    return fit_run(settled_job(asked, prepared), prepared.where.workers, prepared.fit, environment);
  }
  const fs::path run = claim_run(asked, prepared);
  let_root_use_mpirun();
  (void)reap_message_segments();
  tell_notes(prepared.read.notes);
  JobSpec job = prepared.job;
  RunOptions started = asked;
  started.device = prepared.device;
  Starts starts(std::move(started), environment, typed, std::move(prepared), run);
  const int code = Restarter(starts, run, job.layout.restarts).supervise_all();
  // The coordinator has settled the open keys and written them to the run's job.
  if (has_open_numbers(job)) {
    (void)settle_numbers(job, job_in(run / kJobFile), asked.device);
  }
  settle_snapshots(run, job_fingerprint(job), code);
  forget_lost_output();
  return code;
}

}  // namespace gangway::launch
