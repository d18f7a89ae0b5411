// SPDX-License-Identifier: MIT
#include "launch/run/run_job.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/message_segments.hpp"
#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/choices.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/file/settle_precision.hpp"
#include "job/layout/layout.hpp"
#include "job/run_name.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/data/require_data.hpp"
#include "launch/data/style_picture.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/message_paths.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/terminal_width.hpp"
#include "launch/run/initial_weights.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/run/job_notes.hpp"
#include "launch/run/own_networks.hpp"
#include "launch/run/rollbacks.hpp"
#include "launch/run/supervise.hpp"
#include "run/control_protocol.hpp"
#include "run/run_directory.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"
#include "run/run_start.hpp"
#include "run/tether_protocol.hpp"
#include "run/trace_steps.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

// A run that was killed a moment ago holds its lock until its last process is gone, about a second.
constexpr std::chrono::seconds kLockPatience{10};
constexpr std::chrono::milliseconds kLockRetry{200};

/// Beside the coordinator's, which may be on the same host.
std::uint16_t tether_port(std::uint16_t lifeline_port) {
  return static_cast<std::uint16_t>(lifeline_port == 0 ? 0 : lifeline_port + 1);
}

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

/// Width of the terminal for a progress bar; 0: none. Asked here, because under mpirun everything
/// looks like a terminal.
int bar_columns(const std::string& progress) {
  const int columns = terminal_width();
  if (progress == "bar") {
    return columns > 0 ? columns : kUnknownWidth;
  }
  return progress == "auto" ? columns : 0;
}

/// What goes on with the job when it has ended.
struct ResumeLines {
  std::string before_save;  ///< it has saved nothing in its run directory yet
  std::string after_save;
};

/// From a checkpoint elsewhere (--resume PATH) the job has to start once more until it has one of
/// its own; from then on it would be thrown back.
ResumeLines resume_lines(const RunOptions& options, const fs::path& run,
                         const std::vector<std::string>& typed) {
  const std::string go_on = resume_line(typed, run.filename().string());
  const bool from_path =
      options.resume != "auto" && options.resume != "must" && options.resume != "never";
  return {.before_save = from_path ? shell_line(typed) : go_on, .after_save = go_on};
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

/// What it has saved counts, where it has.
std::string resume_after_drain(const std::string& asked, const fs::path& run) {
  return asked == "must" || asked == "never" || newest_checkpoint(run) ? "auto" : asked;
}

std::vector<std::string> train_arguments(const RunOptions& options, const fs::path& run,
                                         const ResumeLines& lines, DeviceKind device) {
  std::vector<std::string> words{fs::absolute(options.job_file).string()};
  words.insert(words.end(), options.overrides.begin(), options.overrides.end());
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  add("--run-directory", run.string());
  if (device == DeviceKind::kCuda) {
    add("--device", std::string(name_of(device)));
  }
  add("--resume", options.resume);
  add("--command", lines.before_save);
  add("--resume-command", lines.after_save);
  if (!options.trace.empty()) {
    add("--trace", options.trace);
  }
  if (options.lifeline_port != 0) {
    add("--lifeline-port", std::to_string(options.lifeline_port));
  }
  if (const int columns = bar_columns(options.progress); columns > 0) {
    add("--bar-columns", std::to_string(columns));
  }
  return words;
}

/// Hosts that the layout names are left out: who is where is not known yet.
JobSources sources_of(const RunOptions& options, const Environment& environment) {
  return {.file = options.job_file,
          .text = std::nullopt,
          .overrides = options.overrides,
          .environment = gangway_variables(environment),
          .hosts = std::vector<std::string>()};
}

/// With workers in the place of hosts that the layout names.
RunOptions with_named_hosts(RunOptions options, const Environment& environment,
                            const JobHosts& where) {
  for (const std::string& key : keys_of_named_hosts(sources_of(options, environment), where)) {
    options.overrides.push_back(key);
  }
  return options;
}

/// For ranks on other hosts; on this one they inherit all.
std::vector<std::string> variables_for_ranks(const JobHosts& where,
                                             const Environment& environment) {
  std::vector<std::string> names = exported_variables(environment);
  if (!where.hosts.empty()) {
    names.emplace_back(kTetherVariable);  // `supervise` sets it
  }
  return names;
}

fs::path coordinator_hostfile(const JobHosts& where, const fs::path& run) {
  if (where.hosts.empty()) {
    return {};
  }
  fs::path path = run / "hostfile";
  write_file_atomically(path, hostfile_with_coordinator(where.hosts, is_this_host));
  return path;
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
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    (void)std::signal(signal, leave_before_the_start);
  }
  (void)std::signal(SIGUSR2, go_on);  // saves and goes on, once there is something
}

/// Told where it is not as usual.
HostMessages host_messages(int workers) {
  const HostMessages chosen = choose_host_messages(workers + 1, kSharedMemoryFolder);
  if (chosen == HostMessages::kTcp) {
    std::cout << "note   " << kSharedMemoryFolder
              << " is nearly full or small: messages within this host go over TCP; make it larger "
                 "(docker run --shm-size, or mount -o remount,size=), or free some (gangway doctor)"
              << std::endl;
  }
  return chosen;
}

/// What the run has in memory when it has ended: removed where all is on the disk, else told.
void settle_snapshots(const fs::path& run, const std::string& fingerprint, int code) {
  if (code == static_cast<int>(ExitCode::kDone) || code == static_cast<int>(ExitCode::kPreempted)) {
    (void)checkpoint::remove_snapshots(checkpoint::snapshot_folders(run),
                                       checkpoint::snapshot_key(run, fingerprint, run_id_of(run)));
    return;
  }
  (void)checkpoint::reap_snapshots(kSharedMemoryFolder);  // of a run that has not come that far
  if (const std::string note = kept_snapshots_note(run, kSharedMemoryFolder); !note.empty()) {
    std::cout << note << std::endl;
  }
}

/// What can be said of the job before anything is made, notes too. @return what its data are; empty
/// where this host may not have them. @throws ConfigError, EnvironmentError
std::string require_possible(ResolvedJob& job, const JobHosts& where,
                             const std::string& unseen_data) {
  require_workers(job.spec, where.workers);
  inspect_own_networks(job);
  require_style_picture(job.spec);
  if (where.hosts.empty()) {  // other hosts may have other data, or this one none
    const DataFacts facts = require_data(job.spec);
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
  std::cout << describe_dry_run(job.spec, workers) << (data.empty() ? "" : "Data: " + data + "\n")
            << std::flush;
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

}  // namespace

RunOptions with_followed_data(RunOptions options, const Environment& environment) {
  FollowedData followed = follow_data(sources_of(options, environment),
                                      job_before(options, run_name_of(options.job_file)));
  tell_notes(followed.note.empty() ? std::vector<std::string>() : std::vector{followed.note});
  options.overrides.insert(options.overrides.end(), followed.overrides.begin(),
                           followed.overrides.end());
  options.unseen_data = std::move(followed.unseen);
  return options;
}

int run_job(const RunOptions& asked, const Environment& environment,
            const std::vector<std::string>& typed) {
  heed_signals();
  ResolvedJob job = load_job(sources_of(asked, environment));
  (void)parse_trace_steps(asked.trace);  // refused before anything is made
  JobHosts where = choose_hosts(asked.hostfile, asked.workers, job.spec, environment);
  const int workers = where.workers;
  const RunOptions options = with_named_hosts(asked, environment, where);
  if (!job.named_hosts.empty()) {
    job = load_job(sources_of(options, environment));
  }
  std::cout << where.found << (where.found.empty() ? "" : "\n") << std::flush;
  const std::string data = require_possible(job, where, options.unseen_data);
  if (options.dry_run) {
    return dry_run(std::move(job), options, workers, data);
  }
  const fs::path run = claim_run(options, job);
  const ResumeLines lines = resume_lines(options, run, typed);
  MpirunRequest request{
      .workers = workers,
      .threads = job.spec.numerics.threads,
      .program = program_folder() / "gangway",
      .hostfile = coordinator_hostfile(where, run),
      .host_messages = host_messages(workers),
      .sends_tensors = job.spec.layout.places_networks(),
      .exported_variables = variables_for_ranks(where, environment),
      .train_arguments = train_arguments(options, run, lines, job.spec.numerics.device)};
  let_root_use_mpirun();
  if (!request.hostfile.empty()) {
    require_ready_hosts(request, run);
  }
  (void)reap_message_segments();
  const std::chrono::duration<double> timeout(job.spec.layout.timeout_seconds);
  SupervisedJob supervised{
      .command = mpirun_command(request),
      .run_directory = run,
      .ranks = workers + 1,
      .silence =
          std::max(std::chrono::ceil<std::chrono::milliseconds>(timeout), kLeastHeartbeatDeadline),
      .reach = request.hostfile.empty() ? TetherReach::kThisHost : TetherReach::kEveryHost,
      .tether_port = tether_port(options.lifeline_port),
      .tells_command = options.verbose,
      .resume_command = [run, lines, before = newest_checkpoint(run)] {
        return newest_checkpoint(run) > before ? lines.after_save : lines.before_save;
      }};
  tell_start(supervised);
  const auto prepare = [&](SupervisedJob& job_again, const std::vector<int>& drained) {
    RunOptions again = options;
    again.resume = drained.empty() ? resume_after_rollback(options.resume, run)
                                   : resume_after_drain(options.resume, run);
    if (!drained.empty()) {
      where.hosts = hosts_without(std::move(where.hosts), where.workers, drained, is_this_host);
      where.workers -= static_cast<int>(drained.size());
      again.overrides = with_named_hosts(asked, environment, where).overrides;
      request.workers = where.workers;
      request.hostfile = coordinator_hostfile(where, run);
      job_again.ranks = where.workers + 1;
    }
    request.train_arguments = train_arguments(again, run, lines, job.spec.numerics.device);
    job_again.command = mpirun_command(request);
  };
  const int code = supervise_through_rollbacks(std::move(supervised), prepare);
  // The coordinator has settled what was auto, and written it.
  if (has_open_precision(job.spec)) {
    (void)settle_precision(job, job_in(run / kJobFile));
  }
  settle_snapshots(run, job_fingerprint(job.spec), code);
  return code;
}

}  // namespace gangway::launch
