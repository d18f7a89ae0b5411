// SPDX-License-Identifier: MIT
// Processes that a test starts, stops, wakes and kills. A child is forked while the test has one
// thread. It exchanges lines with the test; each wait for a line has a deadline, so that no test
// hangs.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"

namespace gangway::testing {

/// One end of the connection between a child and the test.
class Line {
 public:
  explicit Line(FileDescriptor end) : end_(std::move(end)) {}
  void say(const std::string& words) const {
    const std::string line = words + "\n";
    (void)!::send(end_.get(), line.data(), line.size(), MSG_NOSIGNAL);
  }
  /// Returns the next line; "(silence)" if none comes in time, "(end)" if the other end is gone.
  [[nodiscard]] std::string hear(
      std::chrono::milliseconds patience = std::chrono::seconds(20)) const {
    std::string words;
    char c = 0;
    while (true) {
      pollfd wanted{.fd = end_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, static_cast<int>(patience.count())) <= 0) {
        return "(silence)";
      }
      if (::recv(end_.get(), &c, 1, 0) != 1) {
        return "(end)";
      }
      if (c == '\n') {
        return words;
      }
      words += c;
    }
  }

 private:
  FileDescriptor end_;
};

/// A process that runs `body`, and reports the error with which it ends, if there is one.
class Child {
 public:
  using Body = std::function<void(const Line&)>;
  explicit Child(const Body& body) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw std::runtime_error("no socket pair");
    }
    FileDescriptor far(ends[1]);
    line_ = std::make_unique<Line>(FileDescriptor(ends[0]));
    process_ = ::fork();
    if (process_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const Line line(std::move(far));
      try {
        body(line);
      } catch (const CommError& error) {
        line.say(std::string("CommError: ") + error.what());
      } catch (const EnvironmentError& error) {
        line.say(std::string("EnvironmentError: ") + error.what());
      } catch (const std::exception& error) {
        line.say(std::string("error: ") + error.what());
      }
      ::_exit(0);
    }
  }
  ~Child() {
    signal(SIGKILL);
    (void)::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void signal(int number) const { (void)::kill(process_, number); }
  /// Stops the process. Returns when it has stopped.
  void stop() const {
    signal(SIGSTOP);
    (void)::waitpid(process_, nullptr, WUNTRACED);
  }
  [[nodiscard]] const Line& line() const { return *line_; }

 private:
  pid_t process_ = -1;
  std::unique_ptr<Line> line_;
};

}  // namespace gangway::testing
