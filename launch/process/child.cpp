// SPDX-License-Identifier: MIT
#include "launch/process/child.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.hpp"

namespace gangway::launch {
namespace {

constexpr int kNotFound = 127;
constexpr int kEndedBySignal = 128;

[[noreturn]] void become_command(const std::vector<std::string>& words) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  (void)std::signal(SIGINT, SIG_DFL);
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNotFound);
}

int exit_code(int status, const std::string& program) {
  if (WIFSIGNALED(status)) {
    return kEndedBySignal + WTERMSIG(status);
  }
  if (WEXITSTATUS(status) == kNotFound) {
    throw EnvironmentError(fmt::format(
        "{} was not found: install it (./launch/setup does), or put it on the PATH", program));
  }
  return WEXITSTATUS(status);
}

EnvironmentError not_started(const std::string& program) {
  return EnvironmentError(
      fmt::format("{} cannot be started: {}: raise ulimit -u", program, std::strerror(errno)));
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// For the handler: the child that is told, 0 where there is none, and the signal that came.
std::atomic<pid_t> told_child = 0;
std::atomic<int> told_signal = 0;

extern "C" void pass_on(int signal) {
  told_signal = signal;
  if (const pid_t child = told_child; child > 0) {
    (void)::kill(child, signal);
  }
}

/// While it lives, what would end this process is passed on to the child.
class PassedOnSignals {
 public:
  PassedOnSignals() {
    told_signal = 0;
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      (void)::sigaction(kSignals[i], &action, &before_[i]);
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
  static void leave_to_the_child() {
    for (const int signal : kSignals) {
      (void)std::signal(signal, SIG_DFL);
    }
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Tells a child that was told to end once more, and at last ends it.
class Insistence {
 public:
  Insistence(pid_t child, ToldToEnd told) : child_(child), told_(told) {}

  /// Called now and then.
  void look() {
    using std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kAgain{50};
    constexpr std::chrono::seconds kLast{10};
    const int signal = told_signal;
    if (signal == 0 || told_ == ToldToEnd::kOnce) {
      return;
    }
    const auto now = steady_clock::now();
    since_ = since_.value_or(now);
    if (times_ == 0 && now - *since_ >= kAgain) {
      (void)::kill(child_, signal);
      times_ = 1;
    } else if (times_ == 1 && now - *since_ >= kLast) {
      (void)::kill(-child_, SIGKILL);
      times_ = 2;
    }
  }

 private:
  pid_t child_;
  ToldToEnd told_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  int times_ = 0;
};

std::string read_to_the_end(int file, Insistence insistence) {
  constexpr int kLookMilliseconds = 50;
  std::string text;
  std::array<char, 4096> bytes{};
  while (true) {
    pollfd readable{.fd = file, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, kLookMilliseconds);
    insistence.look();
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

int run_child(const std::vector<std::string>& words) {
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const pid_t child = ::fork();
  if (child < 0) {
    throw not_started(words.front());
  }
  if (child == 0) {
    become_command(words);
  }
  const int status = wait_for(child);
  (void)std::signal(SIGINT, interrupt);
  return exit_code(status, words.front());
}

ChildOutput output_of_child(const std::vector<std::string>& words, ToldToEnd told) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw not_started(words.front());
  }
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const PassedOnSignals signals;
  const pid_t child = ::fork();
  if (child < 0) {
    throw not_started(words.front());
  }
  if (child == 0) {
    PassedOnSignals::leave_to_the_child();
    (void)::setpgid(0, 0);
    // Nobody in a group that is not the terminal's may read from it.
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)::dup2(nothing, STDIN_FILENO);
    (void)::dup2(ends[1], STDOUT_FILENO);
    (void)::dup2(ends[1], STDERR_FILENO);
    become_command(words);
  }
  signals.begin(child);
  writing.reset();
  ChildOutput output{.text = read_to_the_end(reading.get(), Insistence(child, told))};
  const int status = wait_for(child);
  if (const int signal = told_signal; signal != 0) {
    throw SignalledError(signal);
  }
  output.code = exit_code(status, words.front());
  return output;
}

}  // namespace gangway::launch
