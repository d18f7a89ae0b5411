// SPDX-License-Identifier: MIT
#include "launch/supervise.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/control_protocol.hpp"
#include "job/errors.hpp"
#include "job/file_descriptor.hpp"
#include "job/run_directory.hpp"
#include "job/unrecorded_end.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{500};  // how often the status file is looked for
constexpr milliseconds kAfterStatus{
    15'000};  // mpirun still there so long after the job ended: a rank hangs
// mpirun waits for the daemon of a host that is gone. The other ranks have left long before.
constexpr milliseconds kAfterLoss{3'000};
constexpr milliseconds kAfterForce{5'000};  // from the second SIGINT to SIGKILL
constexpr int kEndedBySignal = 128;

// Harmless words of Open MPI 4.1 about a lost rank or a signal, of which the coordinator says what
// there is to say.
constexpr std::array<std::string_view, 3> kNoise = {
    "PMIX ERROR: BAD-PARAM", "PMIX ERROR: UNREACHABLE", "mpirun: Forwarding signal"};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD}) {
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
  constexpr int kNotFound = 127;
  ::_exit(kNotFound);
}

/// The coordinator's pid, when it runs on this host.
std::optional<pid_t> local_coordinator(const std::filesystem::path& run) {
  std::ifstream file(run / kPlacementFile);
  const auto placement = nlohmann::json::parse(file, nullptr, false);
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto* ranks =
      placement.is_object() && placement.contains("ranks") ? &placement["ranks"] : &placement;
  if (!ranks->is_array()) {
    return std::nullopt;
  }
  for (const auto& rank : *ranks) {
    if (rank.is_object() && rank.value("rank", -1) == 0 && rank.value("host", "") == host.data()) {
      return static_cast<pid_t>(rank.value("pid", 0));
    }
  }
  return std::nullopt;
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisedJob& job) : job_(job) {}

  int run() {
    start();
    while (!ended_) {
      wait_for_something();
      enforce_deadlines();
    }
    forward_errors();
    std::cerr << rest_ << std::flush;
    return verdict();
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
    errors_ = FileDescriptor(ends[0]);
    const FileDescriptor write_end(ends[1]);
    ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
    child_ = ::fork();
    if (child_ < 0) {
      throw EnvironmentError(
          fmt::format("mpirun cannot be started: {}: raise ulimit -u", std::strerror(errno)));
    }
    if (child_ == 0) {
      become_mpirun(job_.command, write_end.get(), old_mask_);
    }
  }

  void wait_for_something() {
    std::array<pollfd, 2> waiting{pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = errors_.get(), .events = POLLIN, .revents = 0}};
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(kLook.count()));
    forward_errors();
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      on_signal(static_cast<int>(info.ssi_signo));
    }
  }

  void forward_errors() {
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t size = ::read(errors_.get(), bytes.data(), bytes.size());
      if (size == 0) {
        errors_.reset();  // closed by everybody: poll() would report it for ever
      }
      if (size <= 0) {
        return;
      }
      rest_.append(bytes.data(), static_cast<std::size_t>(size));
      for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
        forward_line(std::string_view(rest_).substr(0, end + 1));
        rest_.erase(0, end + 1);
      }
    }
  }

  void forward_line(std::string_view line) {
    if (const auto code = unrecorded_exit_code(line)) {
      unrecorded_ = code;
    }
    for (const std::string_view noise : kNoise) {
      if (line.find(noise) != std::string_view::npos) {
        return;
      }
    }
    std::cerr << line << std::flush;
  }

  void on_signal(int signal) {
    if (signal == SIGCHLD) {
      reap();
    } else if (signal == SIGUSR2) {
      ::kill(child_, SIGUSR2);
    } else if (signal == SIGINT && leave_signal_) {
      force();
    } else if (!leave_signal_) {
      leave_signal_ = signal;
      if (signal == SIGINT) {
        std::cerr << "\ngangway: saves and leaves; Ctrl-C again ends at once, without a save"
                  << std::endl;
      }
      ::kill(child_, SIGUSR1);
    }
  }

  void force() {
    forced_at_ = forced_at_.value_or(steady_clock::now());
    const auto coordinator = local_coordinator(job_.run_directory);
    if (!coordinator || *coordinator <= 0 || ::kill(*coordinator, SIGINT) != 0) {
      ::kill(child_, SIGKILL);
    }
  }

  void reap() {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) {
      ended_ = true;
      child_status_ = status;
    }
  }

  void enforce_deadlines() {
    const auto now = steady_clock::now();
    const auto status = read_status(job_.run_directory);
    if (status && (!status_since_ || status->keeping != is_keeping_)) {
      status_since_ = now;
      is_keeping_ = status->keeping;
      const bool lost = status->exit_code == static_cast<int>(ExitCode::kWorkerLost);
      // While snapshots go to the disk the coordinator sees whether they get on.
      after_status_ =
          is_keeping_ ? kKeepingDeadline + kAfterStatus : (lost ? kAfterLoss : kAfterStatus);
    }
    const bool hangs = status_since_ && now - *status_since_ > after_status_;
    const bool ignores = forced_at_ && now - *forced_at_ > kAfterForce;
    if (!ended_ && (hangs || ignores)) {
      ::kill(child_, SIGKILL);  // its ranks follow within a second
    }
  }

  int verdict() const {
    // What was not recorded comes first: a status may then be another job's.
    const auto status = read_status(job_.run_directory);
    const auto recorded = status ? std::optional<int>(status->exit_code) : std::nullopt;
    if (const auto code = unrecorded_ ? unrecorded_ : recorded) {
      // The coordinator was sent SIGUSR1 for every signal and cannot tell a Ctrl-C.
      const bool interrupted = leave_signal_ == SIGINT && *code == kEndedBySignal + SIGTERM;
      return interrupted ? kEndedBySignal + SIGINT : *code;
    }
    if (leave_signal_) {
      const int signal = *leave_signal_ == SIGINT ? SIGINT : SIGTERM;
      std::cerr << "gangway: ended by a signal without a save; to go on: " << job_.resume_command()
                << std::endl;
      return kEndedBySignal + signal;
    }
    constexpr int kNotFound = 127;
    if (WIFEXITED(child_status_) && WEXITSTATUS(child_status_) == kNotFound) {
      throw EnvironmentError(
          "mpirun was not found: install openmpi-bin (./launch/setup does), or put it on the PATH");
    }
    const std::string how =
        WIFSIGNALED(child_status_)
            ? fmt::format("mpirun was killed by signal {}", WTERMSIG(child_status_))
            : fmt::format("mpirun ended with code {} and the coordinator left no status",
                          WEXITSTATUS(child_status_));
    std::cerr << "gangway: " << how << ": logs in " << (job_.run_directory / kLogsFolder).string()
              << "; to go on: " << job_.resume_command() << std::endl;
    return static_cast<int>(ExitCode::kWorkerLost);
  }

  const SupervisedJob& job_;
  sigset_t old_mask_{};
  FileDescriptor signals_;
  FileDescriptor errors_;  ///< mpirun's standard error
  std::string rest_;       ///< of a line that is not complete yet
  pid_t child_ = -1;
  int child_status_ = 0;
  bool ended_ = false;
  std::optional<int> leave_signal_;
  std::optional<int> unrecorded_;  ///< the coordinator's exit code, where its disk took no status
  std::optional<steady_clock::time_point> forced_at_;
  std::optional<steady_clock::time_point> status_since_;
  milliseconds after_status_ = kAfterStatus;
  bool is_keeping_ = false;
};

}  // namespace

int supervise(const SupervisedJob& job) { return Supervisor(job).run(); }

}  // namespace gangway::launch
