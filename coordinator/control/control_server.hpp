// SPDX-License-Identifier: MIT
// The control service of a running job (run/control/control.proto), with the standard gRPC health
// and reflection services. gRPC's threads pass calls to the event loop's thread and wait with a
// deadline. Created and used on the event loop's thread.
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

/// The job's answers; called on the event loop's thread.
struct ControlHandlers {
  std::function<JobStatus()> status;
  /// Calls its callback once: immediately for a refusal, else when the run's record has the
  /// command. The callback may run on any thread.
  std::function<void(const Command&, std::function<void(const CommandAnswer&)>)> obey;
  /// Calls the function later on the event loop's thread. Any thread.
  std::function<void(std::function<void()>)> post;
};

class ControlServer {
 public:
  /// Listens, and writes address and tokens to the run directory.
  /// @throws ConfigError if the certificate cannot be read
  /// @throws EnvironmentError if it cannot listen
  ControlServer(const ControlSettings& settings, ControlHandlers handlers);
  /// Calls close().
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// The address of the service: "unix:/run/user/7/gangway/4f….sock".
  [[nodiscard]] const std::string& address() const;
  /// Sends a tick to all watchers. Never waits: slow readers miss ticks.
  void publish(const report::Tick& tick);
  /// Sends one line to all watchers. Never waits.
  void publish(const std::string& event);
  /// Ends all calls and removes the files; waits only a short time.
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gangway::coordinator
