// SPDX-License-Identifier: MIT
#include "launch/run/starts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/shared_segment.hpp"
#include "checkpoint/store/scan.hpp"
#include "job/choices.hpp"
#include "job/estimate/dry_run.hpp"
#include "launch/checkpoints/run_lookup.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/mpirun/message_paths.hpp"
#include "launch/process/terminal_width.hpp"
#include "run/control_protocol.hpp"
#include "run/decision_file.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

/// Returns the terminal width for a progress bar; 0: none. Called here, because ranks under mpirun
/// always see a terminal.
int bar_columns(const std::string& progress) {
  const int columns = terminal_width();
  if (progress == "bar") {
    return columns > 0 ? columns : kUnknownWidth;
  }
  return progress == "auto" ? columns : 0;
}

/// Commands that resume the job after its end.
struct ResumeLines {
  std::string before_save;  ///< for a job without a checkpoint in its run directory
  std::string after_save;
};

/// A job with --resume PATH repeats that until it has its own checkpoint; a later repetition would
/// throw it back.
ResumeLines resume_lines(const std::string& asked, const fs::path& run,
                         const std::vector<std::string>& typed) {
  const std::string go_on = resume_line(typed, run.filename().string());
  const bool from_path = asked != "auto" && asked != "must" && asked != "never";
  return {.before_save = from_path ? shell_line(typed) : go_on, .after_save = go_on};
}

/// Returns "auto" if the run has its own checkpoints; else the typed value of --resume.
std::string resume_again(const std::string& asked, const fs::path& run) {
  return asked == "must" || asked == "never" || newest_checkpoint(run) ? "auto" : asked;
}

/// Chooses the transport; prints a note if it is not the usual one.
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

/// Lists variables for ranks on other hosts; ranks on this host inherit all.
std::vector<std::string> variables_for_ranks(const JobHosts& where,
                                             const Environment& environment) {
  std::vector<std::string> names = exported_variables(environment);
  if (!where.hosts.empty()) {
    names.emplace_back(kTetherVariable);  // `supervise` sets it
    // NCCL would otherwise try each interface of the host, including bridges and VPNs.
    const std::string networks = networks_of_the_hosts(environment);
    if (!networks.empty() && networks.find('/') == std::string::npos &&
        ::setenv("NCCL_SOCKET_IFNAME", ("=" + networks).c_str(), /*overwrite=*/0) == 0 &&
        !environment.contains("NCCL_SOCKET_IFNAME")) {
      names.emplace_back("NCCL_SOCKET_IFNAME");
    }
  }
  return names;
}

fs::path coordinator_hostfile(const std::vector<Host>& hosts, const fs::path& run) {
  if (hosts.empty()) {
    return {};
  }
  fs::path path = run / "hostfile";
  write_file_atomically(path, hostfile_with_coordinator(hosts, is_this_host));
  return path;
}

}  // namespace

std::string resume_after_rollback(const std::string& asked, const std::filesystem::path& run) {
  if (asked == "auto" || asked == "must" || asked == "never") {
    return "auto";  // the coordinator skips checkpoints after the rollback point
  }
  const auto decisions = read_decisions(run);
  const auto checkpoints = checkpoint::list_checkpoints(run / kCheckpointsFolder);
  const bool has_own =
      decisions && !decisions->empty() &&
      std::ranges::any_of(checkpoints, [&](const checkpoint::CheckpointEntry& entry) {
        // Checkpoints up to the branch point are from before the run resumed from that path.
        return entry.status == checkpoint::CheckpointStatus::kComplete &&
               entry.step > origin_of(*decisions) && entry.step <= decisions->back().change.step;
      });
  return has_own ? "auto" : asked;
}

std::string resume_line(std::vector<std::string> typed, const std::string& run_directory_name) {
  const std::string option = "--resume";
  const auto goes_on = [](const std::string& value) { return value == "auto" || value == "must"; };
  bool is_new = false;
  for (std::size_t index = 0; index < typed.size(); ++index) {
    std::string& word = typed[index];
    if (word.starts_with(option + "=") && !goes_on(word.substr(option.size() + 1))) {
      word = option + "=auto";
      is_new = true;
    } else if (word == option && index + 1 < typed.size() && !goes_on(typed[index + 1])) {
      typed[index + 1] = "auto";
      is_new = true;
    }
  }
  if (is_new) {
    typed.insert(typed.end(), {"--run", run_directory_name});
  }
  return shell_line(typed);
}

Starts::Starts(RunOptions asked, Environment environment, std::vector<std::string> typed,
               Prepared prepared, fs::path run)
    : asked_(std::move(asked)),
      environment_(std::move(environment)),
      typed_(std::move(typed)),
      as_read_(std::move(prepared.read)),
      spec_(std::move(prepared.job)),
      run_(std::move(run)),
      host_allocator_(
          prepared.where.hosts, prepared.where.workers, spec_.layout.min_workers,
          {.is_this_host = is_this_host,
           .is_possible =
               [this](const HostAllocation& allocation) { return is_possible(allocation); },
           .replicate_networks = [this] { return replicate_networks(); },
           .find_silent =
               [this](const std::vector<Host>& hosts) {
                 return find_silent_hosts(request_, hosts, run_, usual_check_);
               }}),
      request_{.workers = prepared.where.workers,
               .threads = spec_.numerics.threads,
               .program = program_folder() / "gangway",
               .hostfile = coordinator_hostfile(prepared.where.hosts, run_),
               .host_messages = host_messages(prepared.where.workers),
               .sends_tensors = spec_.layout.places_networks(),
               .exported_variables = variables_for_ranks(prepared.where, environment_)},
      returns_(std::chrono::ceil<std::chrono::milliseconds>(
          std::chrono::duration<double>(spec_.layout.timeout_seconds))) {}

SupervisedJob Starts::first(bool goes_on) {
  if (!request_.hostfile.empty()) {
    usual_check_ = require_ready_hosts(request_, run_);
  }
  const std::chrono::duration<double> timeout(spec_.layout.timeout_seconds);
  SupervisedJob job{
      .run_directory = run_,
      .silence =
          std::max(std::chrono::ceil<std::chrono::milliseconds>(timeout), kLeastHeartbeatDeadline),
      .reach = request_.hostfile.empty() ? BindScope::kThisHost : BindScope::kEveryHost,
      // The next port to the coordinator's, which may be on the same host.
      .tether_port =
          static_cast<std::uint16_t>(asked_.lifeline_port == 0 ? 0 : asked_.lifeline_port + 1),
      .networks = networks_of_the_hosts(environment_),
      .tells_command = asked_.verbose,
      .resume_command = [run = run_, lines = resume_lines(asked_.resume, run_, typed_),
                         before = newest_checkpoint(run_)] {
        return newest_checkpoint(run) > before ? lines.after_save : lines.before_save;
      }};
  if (!request_.hostfile.empty() && spec_.output.control != "off") {
    job.side_command = [this](const std::optional<std::string>& said) {
      return side_command(said);
    };
  }
  use(job, asked_.resume, goes_on);
  return job;
}

void Starts::after_rollback(SupervisedJob& job) {
  use(job, resume_after_rollback(asked_.resume, run_), job.goes_on);
}

void Starts::after_resize(SupervisedJob& job, const Resize& asked) {
  shares_ = asked.shares;
  if (!asked.drained.empty()) {
    host_allocator_.drain(asked.drained, asked.workers);
  } else if (workers_with_returned_ > 0 && asked.workers == workers_with_returned_) {
    is_replicated_ = false;
    host_allocator_.take_back(std::chrono::steady_clock::now());
  } else if (asked.workers != allocation().workers) {
    resize(asked.workers);
  }
  use(job, resume_again(asked_.resume, run_), job.goes_on);
}

std::vector<std::string> Starts::side_command(const std::optional<std::string>& said) {
  const auto now = std::chrono::steady_clock::now();
  const std::vector<Host> asked = std::exchange(asked_hosts_, {});
  if (said && !asked.empty()) {
    std::istringstream lines(*said);
    std::vector<std::string> answer{std::istream_iterator<std::string>(lines), {}};
    std::erase_if(answer, [&](const std::string& word) {
      return std::ranges::find(asked, word, &Host::name) == asked.end();
    });
    const int workers = host_allocator_.heard(asked, answer, now);
    if (workers <= allocation().workers || !returns_.may_resize(now)) {
      return {};
    }
    std::cout << fmt::format("again  {} answer{} again: saves, and continues with {} workers",
                             fmt::join(answer, ", "), answer.size() == 1 ? "s" : "", workers)
              << std::endl;
    workers_with_returned_ = workers;
    return {request_.program.string(), "resize", run_.string(), std::to_string(workers)};
  }
  if (said && !said->starts_with("saves ")) {
    std::cerr << "warn  the run stays as it is: " << *said << std::flush;
  }
  if (allocation().left_out.empty() || !returns_.is_due(now)) {
    return {};
  }
  asked_hosts_ = host_allocator_.to_ask(now);
  return asked_hosts_.empty() ? std::vector<std::string>()
                              : command_that_asks(request_, asked_hosts_, run_, usual_check_);
}

void Starts::resize(int workers) {
  std::optional<std::vector<Host>> hosts;
  if (!asked_.hostfile.empty()) {
    try {
      hosts = read_hostfile(asked_.hostfile);  // the hostfile may have new hosts
    } catch (const ConfigError& error) {
      std::cerr << "warn  " << error.what() << ": the hosts stay the same" << std::endl;
    }
  }
  host_allocator_.resize(workers, std::move(hosts), std::chrono::steady_clock::now());
  if (allocation().workers != workers) {
    std::cout << fmt::format("note   {} workers are as many as {} allow, {} were requested",
                             allocation().workers,
                             asked_.hostfile.empty() ? "the hosts that answer"
                                                     : "the slots of " + asked_.hostfile.string(),
                             workers)
              << std::endl;
  }
  request_.host_messages = host_messages(allocation().workers);
}

bool Starts::after_loss(SupervisedJob& job, Rank lost, bool goes_on,
                        const std::function<bool(std::chrono::milliseconds)>& wait) {
  constexpr std::chrono::seconds kBetweenQuestions{5};
  is_replicated_ = false;  // restores the places of networks if hosts are back
  bool is_told = false;
  const auto wait_for_hosts =
      [&](const std::vector<std::string>& hosts) -> std::optional<HostAllocator::TimePoint> {
    if (spec_.checkpoint.snapshot_steps == 0) {
      return std::nullopt;  // no host has a newer snapshot than the disk
    }
    if (!std::exchange(is_told, true)) {
      std::cout << fmt::format(
                       "again  waits for {}, the only hosts with parts of the newest snapshot: {} "
                       "s at most",
                       fmt::join(hosts, ", "), HostAllocator::kPatience.count())
                << std::endl;
    }
    return wait(kBetweenQuestions) ? std::optional(std::chrono::steady_clock::now()) : std::nullopt;
  };
  if (!host_allocator_.after_loss(lost, std::chrono::steady_clock::now(), wait_for_hosts)) {
    return false;
  }
  use(job, resume_again(asked_.resume, run_), goes_on);
  return true;
}

void Starts::keep_snapshots() const {
  constexpr std::chrono::seconds kLimit{600};
  MpirunRequest request = request_;
  request.exported_variables.clear();  // some are only for the ranks of a job
  try {
    if (const std::vector<Host>& hosts = host_allocator_.all_hosts(); !hosts.empty()) {
      for (const ChildOutput& said :
           run_on_each(request, hosts, {"snapshots", "keep", run_.string()}, kLimit)) {
        std::cout << (said.code == 0 ? said.text : "") << std::flush;
      }
    } else if (environment_.contains("SLURM_JOB_ID")) {
      std::cout << launch::keep_snapshots(run_) << std::flush;
    }
  } catch (const Error& error) {
    std::cerr << "warn  snapshots stay in memory only: " << error.what() << std::endl;
  }
}

bool Starts::replicate_networks() {
  const bool places = spec_.layout.places_networks();
  is_replicated_ = is_replicated_ || places;
  return places;
}

void Starts::tell_of_edits() const {
  std::string now;
  try {
    now = read_again(asked_, as_read_, environment_).yaml;
  } catch (const Error&) {
    now.clear();  // incomplete or missing
  }
  if (now != as_read_.yaml) {
    std::cout
        << fmt::format(
               "note   {}, or a file that it names, has changed since this command read it: the "
               "run continues as it began, with {}; the change counts for the next command",
               asked_.job_file.string(), (run_ / kAskedFile).string())
        << std::endl;
  }
}

JobSpec Starts::job_on(const HostAllocation& allocation) const {
  JobSpec job = spec_;
  LayoutChoice& layout = job.layout;
  if (is_replicated_) {  // any number of workers can train if each has enough memory
    layout.stages = 1;
    std::ranges::fill(layout.networks, NetworkPlacement());
  } else {
    place_on_hosts(job, as_read_.named_hosts,
                   hosts_of({.hosts = allocation.hosts, .workers = allocation.workers}));
  }
  layout.data = layout.data == allocation.workers ? layout.data : 0;
  if (!shares_.empty()) {
    layout.shares = shares_;
  }
  if (std::cmp_not_equal(layout.shares.size(), allocation.workers)) {
    layout.shares.clear();
  }
  return job;
}

bool Starts::is_possible(const HostAllocation& allocation) const {
  try {
    require_workers(job_on(allocation), allocation.workers);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Starts::use(SupervisedJob& job, const std::string& resume, bool goes_on) {
  is_restart_ = !job.command.empty();
  if (is_restart_) {
    tell_of_edits();
  }
  if (std::cmp_not_equal(shares_.size(), allocation().workers)) {
    shares_.clear();  // balanced for the former workers
  }
  // Written each time: another command may have replaced the files.
  write_file_atomically(run_ / kAskedFile, to_yaml(job_on(allocation())));
  write_file_atomically(run_ / kRequestFile, to_json(request_of_start(resume, goes_on)));
  request_.workers = allocation().workers;
  request_.hostfile = coordinator_hostfile(allocation().hosts, run_);
  request_.train_arguments = {"--request", (run_ / kRequestFile).string(), "--device",
                              std::string(name_of(spec_.numerics.device))};
  job.command = mpirun_command(request_);
  job.ranks = allocation().workers + 1;
  job.goes_on = goes_on;
  asked_hosts_.clear();
  workers_with_returned_ = 0;
  returns_.begin(std::chrono::steady_clock::now());
}

StartRequest Starts::request_of_start(const std::string& resume, bool goes_on) const {
  const ResumeLines lines = resume_lines(asked_.resume, run_, typed_);
  StartRequest request = asked_;
  request.run_directory = run_;
  request.job_file = run_ / kAskedFile;
  request.overrides.clear();
  request.resume = resume;
  request.command = lines.before_save;
  request.resume_command = lines.after_save;
  request.goes_on = goes_on;
  request.is_again = is_restart_;
  request.bar_columns = bar_columns(asked_.progress);
  return request;
}

}  // namespace gangway::launch
