// SPDX-License-Identifier: MIT
// A command as a child process. Any thread; waits for nothing.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gangway {

/// How a command begins.
struct ChildStart {
  std::vector<std::string> words;  ///< a program, by its path or found on the PATH; its arguments
  int output = STDOUT_FILENO;      ///< descriptors of its standard streams; its input is empty
  int errors = STDERR_FILENO;
  int signal_of_orphans = SIGTERM;    ///< which it gets when this thread ends
  const sigset_t* signals = nullptr;  ///< that are blocked; none given: as in this thread
  int niceness = 0;                   ///< added to this process's
  bool keeps_descriptors = true;      ///< those that are not closed on exec
};

/// The exit code of a child whose program was not found.
inline constexpr int kProgramNotFound = 127;

/// Starts it in a process group of its own: Ctrl-C at the terminal does not reach it.
/// @return its process; -1 with errno: there is none
[[nodiscard]] pid_t start_child(const ChildStart& start);

}  // namespace gangway
