// SPDX-License-Identifier: MIT
// Starts a command as a child process. Any thread; does not wait for the child.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gangway {

/// Settings of a child process.
struct ChildStart {
  std::vector<std::string> words;  ///< program (a path, or a name on the PATH) and its arguments
  int output = STDOUT_FILENO;      ///< descriptor for its standard output; its input is empty
  int errors = STDERR_FILENO;
  int signal_of_orphans = SIGTERM;    ///< the child gets this signal when the calling thread ends
  const sigset_t* signals = nullptr;  ///< signals the child blocks; null: as the calling thread
  int niceness = 0;                   ///< added to the niceness of this process
  bool keeps_descriptors = true;      ///< the child inherits descriptors without close-on-exec
  bool shares_terminal = false;       ///< stays in this process's group and keeps its input
};

/// The exit code of a child whose program was not found.
inline constexpr int kProgramNotFound = 127;
/// The exit code of a process that a signal ended is the signal's number plus this.
inline constexpr int kEndedBySignal = 128;

/// Starts the command. Ctrl-C at the terminal reaches it only if it shares the terminal.
/// @return its process id; -1 with errno if it could not be started
[[nodiscard]] pid_t start_child(const ChildStart& start);

}  // namespace gangway
