// SPDX-License-Identifier: MIT
#include "launch/run/supervise.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "base/message_segments.hpp"
#include "launch/mpirun/mpirun_errors.hpp"
#include "launch/process/launcher_guard.hpp"
#include "launch/process/process_tree.hpp"
#include "launch/run/job_end.hpp"
#include "launch/run/job_watch.hpp"
#include "run/control_protocol.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// How often what nobody tells of is looked at: the status file, stopped processes, deadlines.
constexpr milliseconds kLook{500};
constexpr milliseconds kLookWhileStarting{100};
constexpr milliseconds kLookWhileEnding{20};
// How much later than the first rank another one may come. On a host of its own it may have to read
// its program over a network first: a slow file system is no dead rank.
constexpr milliseconds kSpreadOnOneHost{3'000};
constexpr milliseconds kSpreadOverHosts{10'000};
constexpr milliseconds kAfterForce{1'500};  // from the second SIGINT to the supervisor's own end
constexpr int kEndedBySignal = 128;
constexpr int kNotFound = 127;

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD}) {
    sigaddset(&set, signal);
  }
  return set;
}

/// The child's side of fork. Never returns.
[[noreturn]] void become_mpirun(const std::vector<std::string>& command, int error_pipe,
                                const sigset_t& old_mask) {
  ::setpgid(0, 0);                     // a Ctrl-C of the terminal reaches only the supervisor
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);  // without its supervisor the job saves and leaves
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);  // a background group that read the terminal would be stopped
  ::dup2(error_pipe, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &old_mask, nullptr);
  std::vector<char*> words;
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
  }
  words.push_back(nullptr);
  ::execvp(words.front(), words.data());
  ::_exit(kNotFound);
}

/// Of a run directory that cannot be read at this moment, the next look tells.
std::optional<RunStatus> try_read_status(const std::filesystem::path& run) {
  try {
    return read_status(run);
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisedJob& job)
      : job_(job),
        tethers_(job.reach, job.tether_port, job.ranks, job.networks),
        watch_(job.ranks, steady_clock::now(),
               {.spread = job.reach == TetherReach::kThisHost ? kSpreadOnOneHost : kSpreadOverHosts,
                .silence = job.silence}) {}

  SupervisedEnd run() {
    adopt_orphans();
    start();
    while (!ended_) {
      wait_for_something();
      look();
    }
    SupervisedEnd end{.exit_code = finish(), .was_to_leave = leave_signal_.has_value()};
    const auto status = try_read_status(job_.run_directory);
    end.reason = status ? status->reason : verdict_ ? verdict_->reason : std::string();
    end.lost = status && status->lost > 0 ? status->lost : verdict_ ? verdict_->rank : 0;
    return end;
  }

 private:
  void start() {
    const sigset_t handled = handled_signals();
    ::sigprocmask(SIG_BLOCK, &handled, &old_mask_);
    signals_ = FileDescriptor(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    std::array<int, 2> ends{};
    if (!signals_ || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw EnvironmentError(fmt::format("no descriptors for a child process: {}: raise ulimit -n",
                                         std::strerror(errno)));
    }
    FileDescriptor read_end(ends[0]);
    const FileDescriptor write_end(ends[1]);
    ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    errors_.emplace(std::move(read_end));
    ::setenv(kTetherVariable, tether_text(tethers_.address()).c_str(), /*overwrite=*/1);
    child_ = ::fork();
    if (child_ < 0) {
      throw EnvironmentError(
          fmt::format("mpirun cannot be started: {}: raise ulimit -u", std::strerror(errno)));
    }
    if (child_ == 0) {
      become_mpirun(job_.command, write_end.get(), old_mask_);
    }
    ::unsetenv(kTetherVariable);
    guard_ = guard_launcher(child_);
  }

  [[nodiscard]] milliseconds look_interval() const {
    return end_ ? kLookWhileEnding : watch_.is_starting() ? kLookWhileStarting : kLook;
  }

  void wait_for_something() {
    std::array<pollfd, 3> waiting{
        pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = errors_->descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = tethers_.descriptor(), .events = POLLIN, .revents = 0}};
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(look_interval().count()));
    errors_->forward();
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      on_signal(static_cast<int>(info.ssi_signo));
    }
    const auto now = steady_clock::now();
    tethers_.serve({.greeted =
                        [&](const TetheredRank& rank) {
                          numbers_.insert(rank.said.job);
                          watch_.greeted(rank.said, now);
                        },
                    .heard = [&](int rank) { watch_.heard(rank, now); },
                    .settled = [&](int rank) { watch_.settled(rank); },
                    .gone = [&](int rank) { watch_.gone(rank, now); }},
                   now);
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) {
      reap();
    } else if (signal == SIGUSR2) {
      pass_on(SIGUSR2);
    } else if (signal == SIGINT && leave_signal_) {
      force();
    } else if (!leave_signal_) {
      leave_signal_ = signal;
      if (signal == SIGINT && watch_.is_led()) {
        std::cerr << "\ngangway: saves and leaves; Ctrl-C again ends at once, without a save"
                  << std::endl;
      }
      watch_.asked_to_leave();
      pass_on(SIGUSR1);
    }
  }

  /// Earlier it might kill mpirun or a rank, which do not listen yet, and there is nothing to save.
  void pass_on(int signal) const {
    if (watch_.is_led()) {
      ::kill(child_, signal);
    }
  }

  void force() {
    forced_at_ = forced_at_.value_or(steady_clock::now());
    if (const auto coordinator = local_coordinator()) {
      ::kill(*coordinator, SIGINT);
    }
  }

  [[nodiscard]] std::optional<pid_t> local_coordinator() const {
    const auto found = tethers_.present().find(0);
    if (found == tethers_.present().end() || !found->second.is_local) {
      return std::nullopt;
    }
    return static_cast<pid_t>(found->second.said.process.pid);
  }

  /// mpirun, and what lost its parent.
  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid == child_) {
        ended_ = true;
        child_status_ = status;
      }
    }
  }

  void look() {
    const auto now = steady_clock::now();
    if (ended_) {
      return;
    }
    if (end_) {
      end_->push(now);
      return;
    }
    if (now >= next_look_) {
      next_look_ = now + kLook;
      look_around(now);
    }
    if (forced_at_ && now - *forced_at_ > kAfterForce) {
      end_.emplace(tethers_, child_, Rescue::kNone, now);
    } else if (watch_.check(now)) {
      look_for_end(now);  // the job's own word comes first
      if (const auto verdict = watch_.check(now)) {
        end_job(*verdict, now);
      }
    }
  }

  void look_for_end(steady_clock::time_point now) {
    if (const auto code = recorded_code()) {
      watch_.ended(*code, now);
      if (const auto status = try_read_status(job_.run_directory); status && status->keeping) {
        watch_.keeps_snapshots(now);
      }
      kill_stopped_ranks();  // mpirun would wait for them
    }
  }

  void look_around(steady_clock::time_point now) {
    look_for_end(now);
    watch_.stopped(find_stopped(), now);
    // What the coordinator says goes through mpirun, which may wait for the disk below it.
    const auto coordinator = local_coordinator();
    if (process_state(child_) == 'D' || (coordinator && process_state(*coordinator) == 'D')) {
      watch_.waits_for_disk(now);
    }
  }

  /// Once all ranks are settled, only mpirun: the coordinator finds stopped workers.
  [[nodiscard]] std::vector<StoppedProcess> find_stopped() const {
    std::vector<StoppedProcess> found;
    if (!watch_.is_starting()) {
      if (process_state(child_) == 'T') {
        found.push_back({child_, "mpirun", std::nullopt});
      }
      return found;
    }
    for (const Descendant& process : descendants()) {
      if (process.state == 'T') {
        found.push_back({process.pid, process.program, rank_of_process(process.pid)});
      }
    }
    return found;
  }

  void end_job(const Verdict& verdict, steady_clock::time_point now) {
    if (!verdict.reason.empty()) {
      verdict_ = verdict;
      errors_->forward();
      errors_->hush();  // what follows is Open MPI's view of the same
      say(verdict);
    }
    // Where the job has said how it ends, the time to save is over.
    const bool may_save = watch_.is_led() && !verdict.reason.empty() && !job_.goes_on;
    end_.emplace(tethers_, child_, may_save ? Rescue::kOnOtherHosts : Rescue::kNone, now);
  }

  void say(const Verdict& verdict) const {
    if (verdict.code == ExitCode::kPreempted || job_.goes_on) {
      std::cerr << "gangway: " << verdict.reason << std::endl;
    } else {
      say_how_to_go_on(verdict.reason);
    }
  }

  void say_how_to_go_on(const std::string& reason) const {
    std::cerr << "gangway: " << reason << ": logs in "
              << (job_.run_directory / kLogsFolder).string()
              << "; to go on: " << job_.resume_command() << std::endl;
  }

  int finish() {
    errors_->finish();
    guard_.reset();
    tethers_.order_end();
    if (!end_descendants()) {
      std::cerr << "warn  processes of the job hang in the kernel and cannot be killed: look at "
                   "the disks and devices that they use"
                << std::endl;
    }
    for (const std::uint32_t number : numbers_) {
      (void)remove_message_segments(number);  // a mpirun that was killed has left them
    }
    const int code = exit_code();
    record(code);
    return code;
  }

  /// What was not recorded comes first: a status may then be another job's.
  [[nodiscard]] std::optional<int> recorded_code() const {
    if (const auto code = errors_->unrecorded_code()) {
      return code;
    }
    const auto status = try_read_status(job_.run_directory);
    return status ? std::optional(status->exit_code) : std::nullopt;
  }

  int exit_code() {
    if (const auto code = recorded_code()) {
      // The coordinator was sent SIGUSR1 for every signal and cannot tell a Ctrl-C.
      const bool interrupted = leave_signal_ == SIGINT && *code == kEndedBySignal + SIGTERM;
      return interrupted ? kEndedBySignal + SIGINT : *code;
    }
    if (verdict_) {
      return static_cast<int>(verdict_->code);
    }
    if (leave_signal_) {
      const int signal = *leave_signal_ == SIGINT ? SIGINT : SIGTERM;
      std::cerr << "gangway: ended by a signal without a save; to go on: " << job_.resume_command()
                << std::endl;
      return kEndedBySignal + signal;
    }
    if (WIFEXITED(child_status_) && WEXITSTATUS(child_status_) == kNotFound) {
      throw EnvironmentError(
          "mpirun was not found: install openmpi-bin (./launch/setup does), or put it on the PATH");
    }
    verdict_ = Verdict{ExitCode::kWorkerLost, how_mpirun_ended()};
    say(*verdict_);
    return static_cast<int>(ExitCode::kWorkerLost);
  }

  [[nodiscard]] std::string how_mpirun_ended() const {
    if (WIFSIGNALED(child_status_)) {
      return fmt::format("mpirun was killed by signal {}", WTERMSIG(child_status_));
    }
    const int code = WEXITSTATUS(child_status_);
    const auto lost = watch_.lost_coordinator();
    return code == 0 && lost
               ? *lost
               : fmt::format("mpirun ended with code {} and the coordinator left no status", code);
  }

  /// Where the coordinator could not, unless the run has become another job's.
  void record(int code) const {
    if (!verdict_) {
      return;
    }
    try {
      const RunLock lock(job_.run_directory);
      if (!read_status(job_.run_directory)) {
        write_status(job_.run_directory, {.exit_code = code, .reason = verdict_->reason});
      }
    } catch (const Error& error) {
      std::cerr << "warn  the job's end could not be recorded: " << error.what() << std::endl;
    }
  }

  const SupervisedJob& job_;
  sigset_t old_mask_{};
  FileDescriptor signals_;
  FileDescriptor guard_;  ///< of mpirun, should this process be killed
  std::optional<MpirunErrors> errors_;
  TetherServer tethers_;
  JobWatch watch_;
  std::set<std::uint32_t> numbers_;  ///< Open MPI's, of this job
  pid_t child_ = -1;
  int child_status_ = 0;
  bool ended_ = false;  ///< mpirun
  std::optional<int> leave_signal_;
  std::optional<steady_clock::time_point> forced_at_;
  std::optional<Verdict> verdict_;  ///< the supervisor's own
  std::optional<JobEnd> end_;
  steady_clock::time_point next_look_{};
};

}  // namespace

SupervisedEnd supervise(const SupervisedJob& job) { return Supervisor(job).run(); }

}  // namespace gangway::launch
