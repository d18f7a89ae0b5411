// SPDX-License-Identifier: MIT
#include "launch/process/child.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"
#include "launch/process/process_tree.hpp"

namespace gangway::launch {
namespace {

/// Maximum time for which a child may be stopped; its measurements are then worthless.
constexpr std::chrono::seconds kStoppedLimit{3};

std::atomic<int> asked_to_end = 0;
extern "C" void note_request(int signal) { asked_to_end = signal; }

int code_of(int status) {
  return WIFSIGNALED(status) ? kEndedBySignal + WTERMSIG(status) : WEXITSTATUS(status);
}

/// @throws EnvironmentError if the program was not found
int exit_code(int status, const std::string& program) {
  if (code_of(status) == kProgramNotFound) {
    throw EnvironmentError(fmt::format(
        "{} was not found: install it (./launch/setup does), or put it on the PATH", program));
  }
  return code_of(status);
}

EnvironmentError not_started(const std::string& program) {
  return EnvironmentError(
      fmt::format("{} cannot be started: {}: raise ulimit -u", program, std::strerror(errno)));
}

/// A child whose output and errors come through a pipe. `pid` is -1 if it cannot be started.
struct PipedChild {
  explicit PipedChild(std::vector<std::string> words) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      output = FileDescriptor(ends[0]);
      const FileDescriptor writing(ends[1]);
      pid = start_child(
          {.words = std::move(words), .output = writing.get(), .errors = writing.get()});
    }
  }
  FileDescriptor output;
  pid_t pid = -1;
};

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// State for the signal handler: the child to signal (0: none), and the signal that came.
std::atomic<pid_t> told_child = 0;
std::atomic<int> told_signal = 0;

extern "C" void pass_on(int signal) {
  told_signal = signal;
  if (const pid_t child = told_child; child > 0) {
    (void)::kill(child, signal);
  }
}

/// Forwards signals that would end this process to the child, while this object lives.
class PassedOnSignals {
 public:
  PassedOnSignals() {
    told_signal = 0;
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      (void)::sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) {  // ignored under nohup
        (void)::sigaction(kSignals[i], &action, nullptr);
      }
    }
  }
  ~PassedOnSignals() {
    told_child = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      (void)::sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  PassedOnSignals(const PassedOnSignals&) = delete;
  PassedOnSignals& operator=(const PassedOnSignals&) = delete;

  void begin(pid_t child) const {
    told_child = child;
    if (const int early = told_signal; early != 0) {
      (void)::kill(child, early);
    }
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Repeats the signal to a child that does not end, and at last kills it. Kills a child that stays
/// stopped, too.
class SignalRepeater {
 public:
  SignalRepeater(pid_t child, SignalCount told) : child_(child), signal_count_(told) {}

  /// Takes the steps that are due; called periodically.
  void look() {
    const auto now = steady_clock::now();
    look_for_a_stop(now);
    insist(now);
  }
  [[nodiscard]] bool has_killed_stopped() const { return has_killed_stopped_; }

 private:
  using steady_clock = std::chrono::steady_clock;

  void look_for_a_stop(steady_clock::time_point now) {
    constexpr std::chrono::milliseconds kLook{500};
    if (now < next_look_ || has_killed_stopped_) {
      return;
    }
    next_look_ = now + kLook;
    if (process_state(child_) != 'T') {
      stopped_since_.reset();
      return;
    }
    stopped_since_ = stopped_since_.value_or(now);
    if (now - *stopped_since_ >= kStoppedLimit) {
      has_killed_stopped_ = true;
      (void)::kill(-child_, SIGKILL);
    }
  }

  void insist(steady_clock::time_point now) {
    constexpr std::chrono::milliseconds kAgain{50};
    constexpr std::chrono::seconds kLast{10};
    const int signal = told_signal;
    if (signal == 0) {
      return;
    }
    since_ = since_.value_or(now);
    if (signal_count_ == SignalCount::kAtOnce && !is_repeated_ && now - *since_ >= kAgain) {
      (void)::kill(child_, signal);
      is_repeated_ = true;
    }
    if (now - *since_ >= kLast) {
      (void)::kill(-child_, SIGKILL);
    }
  }

  pid_t child_;
  SignalCount signal_count_;
  std::optional<steady_clock::time_point> since_;
  bool is_repeated_ = false;
  std::optional<steady_clock::time_point> stopped_since_;
  steady_clock::time_point next_look_{};
  bool has_killed_stopped_ = false;
};

/// Reads until all writers have closed the pipe, or until `look` returns false.
/// @param look  called at least every 50 ms
template <typename Look>
std::string read_to_the_end(int file, Look look) {
  constexpr int kLookMilliseconds = 50;
  std::string text;
  std::array<char, 4096> bytes{};
  while (true) {
    pollfd readable{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, kLookMilliseconds);
    if (!look()) {
      return text;
    }
    if (ready <= 0) {
      continue;
    }
    const ssize_t size = ::read(file, bytes.data(), bytes.size());
    if (size > 0) {
      text.append(bytes.data(), static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

EndRequests::EndRequests() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, note_request) == SIG_IGN) {
      (void)std::signal(signal, SIG_IGN);  // ignored under nohup
    }
  }
}

void EndRequests::heed() {
  if (const int signal = asked_to_end; signal != 0) {
    throw SignalledError(signal);
  }
}

int run_child(const std::vector<std::string>& words) {
  const pid_t child = start_child({.words = words, .shares_terminal = true});
  if (child < 0) {
    throw not_started(words.front());
  }
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const int status = wait_for(child);
  (void)std::signal(SIGINT, interrupt);
  return exit_code(status, words.front());
}

ChildOutput output_of_child(const std::vector<std::string>& words, SignalCount told) {
  const PassedOnSignals signals;
  EndRequests::heed();  // earlier signals; later ones go to the child
  PipedChild child(words);
  if (child.pid < 0) {
    throw not_started(words.front());
  }
  signals.begin(child.pid);
  SignalRepeater repeater(child.pid, told);
  ChildOutput output{.text = read_to_the_end(child.output.get(), [&] {
                       repeater.look();
                       return true;
                     })};
  const int status = wait_for(child.pid);
  if (const int signal = told_signal; signal != 0) {
    throw SignalledError(signal);
  }
  if (repeater.has_killed_stopped()) {
    throw EnvironmentError(
        fmt::format("{} was stopped (SIGSTOP) and not continued within {} s, so it was ended: run "
                    "this again without stopping it",
                    words.front(), kStoppedLimit.count()));
  }
  output.code = exit_code(status, words.front());
  return output;
}

ChildOutput output_within(std::chrono::seconds limit, std::vector<std::string> words) {
  const PipedChild child(std::move(words));
  if (child.pid < 0) {
    return {};
  }
  constexpr std::chrono::seconds kUntilKill{1};
  const auto end = std::chrono::steady_clock::now() + limit;
  bool is_late = false;
  ChildOutput output{.text = read_to_the_end(child.output.get(), [&] {
                       const auto now = std::chrono::steady_clock::now();
                       if (now >= end + kUntilKill) {
                         (void)::kill(-child.pid, SIGKILL);
                       } else if (now >= end && !std::exchange(is_late, true)) {
                         (void)::kill(-child.pid, SIGTERM);
                       }
                       return now < end + 2 * kUntilKill;  // a process outside the group may write
                     })};
  const int code = code_of(wait_for(child.pid));
  output.code = is_late ? kTookTooLong : code;
  return output;
}

}  // namespace gangway::launch
