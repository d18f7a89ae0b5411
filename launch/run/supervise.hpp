// SPDX-License-Identifier: MIT
// Runs mpirun as a child and ends everything if the job cannot end itself. Passes signals on so
// that the job can save; maps the run's status file to an exit code. Called by `gangway run`;
// handles all signals of the process and adopts orphaned descendants.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/run/supervision.hpp"
#include "launch/run/tether_server.hpp"

namespace gangway::launch {

struct SupervisedJob {
  std::vector<std::string> command;           ///< mpirun and its arguments
  std::filesystem::path run_directory;        ///< its status file decides the exit code
  int ranks = 2;                              ///< the coordinator and the workers
  std::chrono::milliseconds silence{60'000};  ///< layout.timeout_seconds: limit for a hang
  BindScope reach = BindScope::kThisHost;
  std::uint16_t tether_port = 0;  ///< 0: any
  std::string networks = {};      ///< networks of ranks on other hosts; for on_networks()
  bool tells_command = false;
  sigset_t signals{};  ///< signal mask for mpirun: the original mask of this process
  /// Another start follows a loss: snapshots stay in memory, and no advice is printed.
  bool goes_on = false;
  std::function<std::string()> resume_command;  ///< advice if the job died without a status
  /// Returns a command to run beside the job; empty: none. The supervisor calls it while the job
  /// trains, runs one command at a time, and ends the command with the start.
  /// @param said  output of the last command, passed once
  std::function<std::vector<std::string>(const std::optional<std::string>& said)> side_command = {};
};

/// Returns SIGINT, SIGTERM, SIGUSR1, SIGUSR2, and SIGHUP unless it is ignored (nohup).
[[nodiscard]] sigset_t signals_of_a_job();

/// Starts the job once and waits for its end. SIGINT, SIGTERM, SIGHUP and SIGUSR1 become SIGUSR1
/// (save and leave: mpirun would kill after SIGTERM). They end a job that has not begun. A second
/// SIGINT ends the job at once. SIGUSR2 saves, and training continues. On return, no process of the
/// job is left on this host, and these signals are blocked.
/// @throws EnvironmentError if mpirun cannot be started
[[nodiscard]] RunEnd supervise(const SupervisedJob& job);

}  // namespace gangway::launch
