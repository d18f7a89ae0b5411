// SPDX-License-Identifier: MIT
#include "launch/run/run_job.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/message_segments.hpp"
#include "base/system/told_output.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/file/settle_precision.hpp"
#include "job/run_name.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/data/require_data.hpp"
#include "launch/data/style_picture.hpp"
#include "launch/fit/expected_memory.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/message_paths.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/run/initial_weights.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/run/own_networks.hpp"
#include "launch/run/restarts.hpp"
#include "launch/run/starts.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "run/run_start.hpp"
#include "run/trace_steps.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

// A run that was killed a moment ago holds its lock until its last process is gone, about a second.
constexpr std::chrono::seconds kLockPatience{10};
constexpr std::chrono::milliseconds kLockRetry{200};

fs::path choose_run(const RunOptions& options, const std::string& default_name) {
  const std::string name = options.run_name.empty() ? default_name : options.run_name;
  require_run_name(name);
  if (options.resume == "never") {
    return create_run(options.outdir, name);
  }
  if (options.resume == "must" && !find_run(options.outdir, name)) {
    throw CheckpointError(
        fmt::format("--resume must: there is no run '{}' in {}: start with --resume auto", name,
                    options.outdir.string()));
  }
  return open_run(options.outdir, name);
}

/// The run must be nobody's before the old status is forgotten. The coordinator takes the lock for
/// good.
void require_free(const fs::path& run) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  for (bool told = false;; told = true) {
    try {
      const RunLock probe(run);
      return;
    } catch (const EnvironmentError& error) {
      if (std::chrono::steady_clock::now() >= end) {
        throw;
      }
      if (!told) {
        std::cout << "note   " << error.what() << "; waiting for its end" << std::endl;
      }
      std::this_thread::sleep_for(kLockRetry);
    }
  }
}

/// Whether there is a checkpoint that the job would go on from.
bool goes_on(const RunOptions& options, const std::string& default_name) {
  if (options.resume != "auto" && options.resume != "must") {
    return options.resume != "never";
  }
  const auto run =
      find_run(options.outdir, options.run_name.empty() ? default_name : options.run_name);
  return run && newest_checkpoint(*run).has_value();
}

/// The job of the run that this one would go on with.
std::optional<JobSpec> job_before(const RunOptions& options, const std::string& default_name) {
  const auto run =
      find_run(options.outdir, options.run_name.empty() ? default_name : options.run_name);
  return run && options.resume != "never" ? job_in(*run / kJobFile) : std::nullopt;
}

/// There is nothing to save, and nothing to end but this process: what it has started ends with it.
extern "C" void leave_before_the_start(int /*signal*/) {
  constexpr std::string_view kLine =
      "gangway: stopped on request before the job had begun: the same command goes on\n";
  (void)!::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(static_cast<int>(ExitCode::kPreempted));
}
extern "C" void go_on(int /*signal*/) {}

/// Until `supervise` takes the signals over. Handlers, which no child inherits.
void heed_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    if (std::signal(signal, leave_before_the_start) == SIG_IGN && signal == SIGHUP) {
      (void)std::signal(signal, SIG_IGN);  // nohup
    }
  }
  (void)std::signal(SIGUSR2, go_on);  // saves and goes on, once there is something
}

/// What the run has in memory when it has ended: removed where all is on the disk, else told.
void settle_snapshots(const fs::path& run, const std::string& fingerprint, int code) {
  const auto status = read_status(run);
  // One that was asked to leave before its first step has saved nothing.
  if (code == static_cast<int>(ExitCode::kDone) || (status && status->saved)) {
    (void)checkpoint::remove_snapshots(checkpoint::snapshot_folders(run),
                                       checkpoint::snapshot_key(run, fingerprint, run_id_of(run)));
    return;
  }
  (void)checkpoint::reap_snapshots(kSharedMemoryFolder);  // of a run that has not come that far
  if (const std::string note = kept_snapshots_note(run, kSharedMemoryFolder); !note.empty()) {
    std::cout << note << std::endl;
  }
}

/// A line each.
void tell_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::cout << "note   " << note << std::endl;
  }
}

/// What can be said of the job before anything is made, notes too. @return what its data are; empty
/// where this host may not have them. @throws ConfigError, EnvironmentError
std::string require_possible(ResolvedJob& job, const JobHosts& where,
                             const Environment& environment, const std::string& unseen_data) {
  require_workers(job.spec, where.workers);
  inspect_own_networks(job);
  require_style_picture(job.spec);
  if (where.hosts.empty()) {  // other hosts may have other data, or this one none
    const DataFacts facts = require_data(
        job.spec, environment, [](const std::string& line) { std::cout << line << std::endl; });
    tell_notes(facts.notes);
    return facts.what;
  }
  if (!unseen_data.empty()) {
    throw ConfigError(unseen_data);
  }
  return {};
}

/// @param data  as of require_possible
int dry_run(ResolvedJob job, const RunOptions& options, int workers, const std::string& data) {
  require_initial_weights(job.spec);
  tell_notes(job.notes);
  if (const std::string line = settle_precision(job, job_before(options, job.name));
      !line.empty()) {
    std::cout << line << '\n';
  }
  std::cout << describe_dry_run(job.spec, workers,
                                expected_memory(job.spec, options.job_file, workers).rows)
            << (data.empty() ? "" : "Data: " + data + "\n") << std::flush;
  return static_cast<int>(ExitCode::kDone);
}

/// The run directory, with nothing of a start before in the way. @throws ConfigError,
/// EnvironmentError
fs::path claim_run(const RunOptions& options, const ResolvedJob& job) {
  require_programs(job.spec.numerics.device);
  require_network_interface();
  if (!goes_on(options, job.name)) {
    require_initial_weights(job.spec);  // later the checkpoints count
  }
  fs::path run = choose_run(options, job.name);
  require_free(run);
  clear_status(run);
  fs::remove(run / kPlacementFile);
  return run;
}

/// Of the hosts that the workers are to be on; one that does not answer has none.
int fewest_gpus(const fs::path& hostfile, const Environment& environment) {
  if (hostfile.empty()) {
    return usable_gpus();
  }
  let_root_use_mpirun();
  constexpr int kLimitSeconds = 20;
  const MpirunRequest request{.program = program_folder() / "gangway",
                              .exported_variables = exported_variables(environment)};
  int fewest = std::numeric_limits<int>::max();
  for (const CommandOutput& output :
       run_on_each(request, read_hostfile(hostfile), {"count-gpus"}, kLimitSeconds)) {
    fewest = std::min(fewest, gpus_in(output.text));
  }
  return fewest;
}

}  // namespace

RunOptions with_followed_data(RunOptions options, const Environment& environment) {
  FollowedData followed = follow_data(sources_of(options, environment),
                                      job_before(options, run_name_of(options.job_file)),
                                      [&] { return fewest_gpus(options.hostfile, environment); });
  for (const std::string& note : {followed.device, followed.note}) {
    tell_notes(note.empty() ? std::vector<std::string>() : std::vector{note});
  }
  options.overrides.insert(options.overrides.end(), followed.overrides.begin(),
                           followed.overrides.end());
  options.unseen_data = std::move(followed.unseen);
  return options;
}

int run_job(const RunOptions& asked, const Environment& environment,
            const std::vector<std::string>& typed) {
  heed_signals();
  ResolvedJob job = load_job(sources_of(asked, environment));
  // Refused before anything is made.
  if (parse_trace_steps(asked.trace).detail.kernels &&
      job.spec.numerics.device == DeviceKind::kCpu) {
    throw ConfigError(
        fmt::format("--trace {}: the job computes on CPUs, and kernels are GPUs': leave them out",
                    asked.trace));
  }
  JobHosts where = choose_hosts(asked.hostfile, asked.workers, job.spec, environment);
  const int workers = where.workers;
  ResolvedJob as_read = job;
  if (!job.named_hosts.empty()) {
    job = load_job(with_named_hosts(sources_of(asked, environment), where));
  }
  std::cout << where.found << (where.found.empty() ? "" : "\n") << std::flush;
  const std::string data = require_possible(job, where, environment, asked.unseen_data);
  if (asked.dry_run) {
    return dry_run(std::move(job), asked, workers, data);
  }
  const fs::path run = claim_run(asked, job);
  let_root_use_mpirun();
  (void)reap_message_segments();
  tell_notes(as_read.notes);
  Starts starts(asked, environment, typed, std::move(where), std::move(as_read), job.spec, run);
  const int code = Restarter(starts, run, job.spec.layout.restarts).supervise_all();
  // The coordinator has settled what was auto, and written it.
  if (has_open_precision(job.spec)) {
    (void)settle_precision(job, job_in(run / kJobFile));
  }
  settle_snapshots(run, job_fingerprint(job.spec), code);
  forget_lost_output();
  return code;
}

}  // namespace gangway::launch
