// SPDX-License-Identifier: MIT
// The control service of a running job (run/control/control.proto): gRPC on threads of its own,
// which hand what is asked to the event loop's thread and wait for it, each with a deadline. Beside
// it the standard services for health and reflection. Made and used on the event loop's thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "coordinator/steering/command.hpp"
#include "coordinator/steering/job_status.hpp"
#include "report/tick.hpp"

namespace gangway::coordinator {

struct ControlSettings {
  std::filesystem::path run_directory;
  std::string address = "auto";   ///< auto: a Unix socket; else "ADDRESS:PORT"
  std::string certificate;        ///< PEM file; empty: no TLS
  std::string key;                ///< PEM file
  std::string runtime_directory;  ///< $XDG_RUNTIME_DIR
};

/// What the job answers, on the event loop's thread.
struct ControlHandlers {
  std::function<JobStatus()> status;
  /// Answers once: at once where it refuses, else when the run's record has the command, on any
  /// thread.
  std::function<void(const Command&, std::function<void(const CommandAnswer&)>)> obey;
  /// Has it called on the event loop's thread, some time. Any thread.
  std::function<void(std::function<void()>)> post;
};

class ControlServer {
 public:
  /// Listens, and leaves address and tokens in the run directory.
  /// @throws ConfigError for a certificate that cannot be read, EnvironmentError where it cannot
  /// listen
  ControlServer(const ControlSettings& settings, ControlHandlers handlers);
  /// As close().
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// "unix:/run/user/7/gangway/4f….sock".
  [[nodiscard]] const std::string& address() const;
  /// For those who watch. Never waits: who reads too slowly misses some.
  void publish(const report::Tick& tick);
  /// The same, one line.
  void publish(const std::string& event);
  /// Ends all calls and takes the files away; waits a short while for it, not for ever.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gangway::coordinator
