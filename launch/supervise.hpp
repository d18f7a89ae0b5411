// SPDX-License-Identifier: MIT
// Runs mpirun as a child, passes signals on in the form that lets the job save, and turns the run's
// status file into an exit code. Called by `gangway run`; uses the whole process's signals.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace gangway::launch {

struct SupervisedJob {
  std::vector<std::string> command;     ///< mpirun and its arguments
  std::filesystem::path run_directory;  ///< whose status file counts
  std::function<std::string()>
      resume_command;  ///< advice, asked for when the job died without a word
};

/// Starts the job once and waits for its end. A relaunch after a death of mpirun or the coordinator
/// goes around this. SIGINT, SIGTERM and SIGUSR1 become SIGUSR1 (save and leave: mpirun would kill
/// after SIGTERM); a second SIGINT ends the job at once; SIGUSR2 saves and goes on.
/// @return the exit code of `gangway run`. @throws EnvironmentError when mpirun cannot be started.
[[nodiscard]] int supervise(const SupervisedJob& job);

}  // namespace gangway::launch
