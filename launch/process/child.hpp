// SPDX-License-Identifier: MIT
// Runs a command as a child that shares this process's terminal. Called by measuring commands, main
// thread.
#pragma once

#include <string>
#include <vector>

#include "launch/process/end_requests.hpp"

namespace gangway::launch {

/// Runs `words` to its end. Ctrl-C reaches both child and this process, which waits for the child.
/// The child gets SIGTERM when this process dies.
/// @return its exit code, or 128 plus the signal that ended it
/// @throws EnvironmentError if it cannot be started
[[nodiscard]] int run_child(const std::vector<std::string>& words);

struct ChildOutput {
  int code = 0;      ///< its exit code, or 128 plus the signal that ended it
  std::string text;  ///< standard output and standard error
};

/// How often a child gets the signal that asks this process to end.
enum class SignalCount {
  kOnce,
  /// Twice, soon after each other: a measured run has nothing to save.
  kAtOnce,
};

/// Runs a child in its own process group, without the terminal, and keeps its output. Forwards
/// SIGINT, SIGTERM and SIGHUP, except those that this process ignores, and waits for its end. One
/// child at a time.
/// @throws SignalledError if a signal came, or EndRequests had noted one; EnvironmentError if the
/// child cannot be started, or stays stopped
[[nodiscard]] ChildOutput output_of_child(const std::vector<std::string>& words,
                                          SignalCount told = SignalCount::kOnce);

}  // namespace gangway::launch
