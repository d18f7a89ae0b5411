// SPDX-License-Identifier: MIT
// Runs mpirun as a child, passes signals on in the form that lets the job save, ends everything
// when the job cannot end itself, and turns the run's status file into an exit code. Called by
// `gangway run`; uses the whole process's signals and adopts what its descendants leave.
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
  std::filesystem::path run_directory;        ///< whose status file counts
  int ranks = 2;                              ///< the coordinator and the workers
  std::chrono::milliseconds silence{60'000};  ///< layout.timeout_seconds: then a process hangs
  Reach reach = Reach::kThisHost;
  std::uint16_t tether_port = 0;  ///< 0: any
  std::string networks = {};      ///< that ranks on other hosts come by; as on_networks()
  bool tells_command = false;
  sigset_t signals{};  ///< that mpirun is begun with: those that this process had at first
  /// Another start follows a loss: what is in memory stays there, and there is no advice to give.
  bool goes_on = false;
  std::function<std::string()>
      resume_command;  ///< advice, asked for when the job died without a word
  /// Returns a command to run beside the job, or nothing to run. The supervisor asks it while the
  /// job trains, runs one command at a time, and ends that with the start.
  /// @param said  output of the last command, passed once
  std::function<std::vector<std::string>(const std::optional<std::string>& said)> errand = {};
};

/// SIGINT, SIGTERM, SIGHUP unless it is ignored (nohup), SIGUSR1 and SIGUSR2.
[[nodiscard]] sigset_t signals_of_a_job();

/// Starts the job once and waits for its end. SIGINT, SIGTERM, SIGHUP and SIGUSR1 become SIGUSR1
/// (save and leave: mpirun would kill after SIGTERM), or end a job that has not begun; a second
/// SIGINT ends the job at once; SIGUSR2 saves and goes on. When this returns, no process of the job
/// is left on this host, and those signals are blocked.
/// @throws EnvironmentError when mpirun cannot be started.
[[nodiscard]] SupervisedEnd supervise(const SupervisedJob& job);

}  // namespace gangway::launch
