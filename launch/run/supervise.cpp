// SPDX-License-Identifier: MIT
#include "launch/run/supervise.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "base/message_segments.hpp"
#include "base/system/start_child.hpp"
#include "launch/mpirun/launcher_guard.hpp"
#include "launch/mpirun/mpirun_errors.hpp"
#include "launch/mpirun/session_folder.hpp"
#include "launch/process/process_tree.hpp"
#include "launch/run/job_end.hpp"
#include "launch/run/supervision.hpp"
#include "run/control_protocol.hpp"
#include "run/run_files.hpp"
#include "run/run_lock.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Polling period without events, for the status file, stopped processes and deadlines.
constexpr milliseconds kLook{500};
constexpr milliseconds kLookWhileStarting{100};
constexpr milliseconds kLookWhileEnding{20};
// Maximum delay of a rank after the first one. A rank on its own host may load its program over a
// slow network file system first.
constexpr milliseconds kSpreadOnOneHost{3'000};
constexpr milliseconds kSpreadOverHosts{10'000};

/// Returns nullopt if the run directory cannot be read now; the next poll retries.
std::optional<RunEnd> try_read_status(const std::filesystem::path& run) {
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
        supervision_(
            job.ranks, job.goes_on, steady_clock::now(),
            {.spread = job.reach == BindScope::kThisHost ? kSpreadOnOneHost : kSpreadOverHosts,
             .silence = job.silence}) {}

  RunEnd run() {
    adopt_orphans();
    start();
    while (!ended_) {
      wait_for_something();
      look();
    }
    return finish();
  }

 private:
  void start() {
    sigset_t handled = signals_of_a_job();
    sigaddset(&handled, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &handled, nullptr);
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
    session_folder_.emplace();
    ::setenv(kTetherVariable, address_text(tethers_.address()).c_str(), /*overwrite=*/1);
    child_ = start_child({.words = job_.command,
                          .errors = write_end.get(),
                          .signal_of_orphans = SIGUSR1,  // the job then saves and leaves
                          .signals = &job_.signals});
    if (child_ < 0) {
      throw EnvironmentError(
          fmt::format("mpirun cannot be started: {}: raise ulimit -u", std::strerror(errno)));
    }
    ::unsetenv(kTetherVariable);
    guard_ = guard_launcher(child_);
  }

  [[nodiscard]] milliseconds look_interval() const {
    return end_                                 ? kLookWhileEnding
           : supervision_.watch().is_starting() ? kLookWhileStarting
                                                : kLook;
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
                          session_folder_.reset();
                          numbers_.insert(rank.said.job);
                          supervision_.watch().greeted(rank.said, now);
                        },
                    .heard = [&](Rank rank) { supervision_.watch().heard(rank, now); },
                    .settled = [&](Rank rank) { supervision_.watch().settled(rank); },
                    .gone = [&](Rank rank) { supervision_.watch().gone(rank, now); }},
                   now);
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) {
      reap();
      return;
    }
    const Supervision::Passed passed = supervision_.on_signal(signal, steady_clock::now());
    if (passed.tells_how) {
      std::cerr << "\ngangway: saves and exits; Ctrl-C again ends at once, without a save"
                << std::endl;
    }
    if (passed.to_mpirun != 0) {
      ::kill(child_, passed.to_mpirun);
    }
    if (const auto coordinator = local_coordinator(); passed.ends_now && coordinator) {
      ::kill(*coordinator, SIGINT);
    }
  }

  [[nodiscard]] std::optional<pid_t> local_coordinator() const {
    const auto found = tethers_.present().find(Rank(0));
    if (found == tethers_.present().end() || !found->second.is_local) {
      return std::nullopt;
    }
    return static_cast<pid_t>(found->second.said.process.pid);
  }

  /// Reaps mpirun and orphaned descendants.
  void reap() {
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      if (pid == child_) {
        ended_ = true;
        child_status_ = status;
      } else if (pid == side_command_) {
        side_command_ = -1;
        side_output_ = side_text();
      }
    }
  }

  void look() {
    const auto now = steady_clock::now();
    if (ended_) {
      return;
    }
    if (end_) {
      ended_ = end_->push(now) == JobEnd::Next::kGiveUp;
      return;
    }
    if (now >= next_look_) {
      next_look_ = now + kLook;
      look_around(now);
      run_errand();
    }
    if (const auto ending = supervision_.check(now, [&] { look_for_end(now); })) {
      end_job(*ending, now);
    }
  }

  void run_errand() {
    if (!job_.side_command || side_command_ > 0 || !supervision_.watch().is_led()) {
      return;
    }
    const auto words = job_.side_command(std::exchange(side_output_, std::nullopt));
    if (words.empty()) {
      return;
    }
    side_file_.reset(::memfd_create("side command", MFD_CLOEXEC));
    if (side_file_) {
      side_command_ = start_child({.words = words,
                                   .output = side_file_.get(),
                                   .errors = side_file_.get(),
                                   .signals = &job_.signals});
    }
  }

  [[nodiscard]] std::string side_text() const {
    std::string text(static_cast<std::size_t>(::lseek(side_file_.get(), 0, SEEK_END)), '\0');
    const ssize_t size = ::pread(side_file_.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    return text;
  }

  void look_for_end(steady_clock::time_point now) {
    if (const auto end = recorded_end()) {
      supervision_.watch().ended(end->exit_code, now);
      if (end->keeps) {
        supervision_.watch().keeps_snapshots(now);
      }
      kill_stopped_ranks();  // mpirun would wait for them
    }
  }

  void look_around(steady_clock::time_point now) {
    look_for_end(now);
    supervision_.watch().stopped(find_stopped(), now);
    // The coordinator's output goes through mpirun, which may be waiting for the disk.
    const auto coordinator = local_coordinator();
    if (process_state(child_) == 'D' || (coordinator && process_state(*coordinator) == 'D')) {
      supervision_.watch().waits_for_disk(now);
    }
  }

  /// Once all ranks are settled, checks only mpirun: the coordinator finds stopped workers.
  [[nodiscard]] std::vector<StoppedProcess> find_stopped() const {
    std::vector<StoppedProcess> found;
    if (!supervision_.watch().is_starting()) {
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

  void end_job(const Supervision::Ending& ending, steady_clock::time_point now) {
    if (!ending.word.line.empty()) {
      errors_->forward();
      errors_->hush();  // Open MPI only repeats the same loss
    }
    say(ending.word);
    end_.emplace(tethers_, child_, ending.pending_saves, now);
  }

  void say(const SupervisorLine& word) const {
    if (word.line.empty()) {
      return;
    }
    std::cerr << "gangway: " << word.line;
    if (word.tells_command) {
      std::cerr << (word.tells_logs ? ": logs in " + (job_.run_directory / kLogsFolder).string()
                                    : "")
                << "; to resume: " << job_.resume_command();
    }
    std::cerr << std::endl;
  }

  RunEnd finish() {
    errors_->finish();
    guard_.reset();
    tethers_.order_end();
    if (!end_descendants()) {
      std::cerr << "warn  processes of the job hang in the kernel and cannot be killed: look at "
                   "the disks and devices that they use"
                << std::endl;
    }
    for (const std::uint32_t number : numbers_) {
      (void)remove_message_segments(number);  // left by a killed mpirun
    }
    remove_session_of(child_);
    const Supervision::Finished finished = supervision_.finish(recorded_end(), child_status_);
    say(finished.word);
    record(finished.end.exit_code);
    return finished.end;
  }

  /// Prefers an exit code that the disk did not take: a status may then be another job's.
  [[nodiscard]] std::optional<RunEnd> recorded_end() const {
    if (const auto code = errors_->unrecorded_code()) {
      return RunEnd{.exit_code = *code};
    }
    return try_read_status(job_.run_directory);
  }

  /// Records the end if the coordinator could not, unless another job has taken the run.
  void record(int code) const {
    if (!supervision_.own_end()) {
      return;
    }
    try {
      const RunLock lock(job_.run_directory);
      if (!read_status(job_.run_directory)) {
        write_status(job_.run_directory,
                     {.exit_code = code, .reason = supervision_.own_end()->reason});
      }
    } catch (const Error& error) {
      std::cerr << "warn  the job's end could not be recorded: " << error.what() << std::endl;
    }
  }

  const SupervisedJob& job_;
  FileDescriptor signals_;
  FileDescriptor guard_;  ///< kills mpirun if this process is killed
  std::optional<MpirunErrors> errors_;
  TetherServer tethers_;
  Supervision supervision_;
  std::set<std::uint32_t> numbers_;                  ///< Open MPI's numbers of this job
  std::optional<HeldSessionFolder> session_folder_;  ///< until mpirun has files in it
  pid_t child_ = -1;
  int child_status_ = 0;
  bool ended_ = false;  ///< mpirun has ended
  std::optional<JobEnd> end_;
  pid_t side_command_ = -1;   ///< -1: none runs
  FileDescriptor side_file_;  ///< its output and errors
  std::optional<std::string> side_output_;
  steady_clock::time_point next_look_{};
};

}  // namespace

sigset_t signals_of_a_job() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    sigaddset(&set, signal);
  }
  struct sigaction hangup {};
  // The kernel queues a blocked signal even if it is ignored.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN) {
    sigdelset(&set, SIGHUP);
  }
  return set;
}

RunEnd supervise(const SupervisedJob& job) { return Supervisor(job).run(); }

}  // namespace gangway::launch
