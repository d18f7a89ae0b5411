// SPDX-License-Identifier: MIT
// A command as a child that shares this process's terminal. Called by what measures,
// main thread.
#pragma once

#include <string>
#include <vector>

#include "launch/process/end_requests.hpp"

namespace gangway::launch {

/// Runs `words` to its end. A Ctrl-C reaches it as it reaches this process, which waits for it; it
/// gets SIGTERM when this process dies.
/// @return its exit code, or 128 and the signal that ended it.
/// @throws EnvironmentError when it cannot be started.
[[nodiscard]] int run_child(const std::vector<std::string>& words);

struct ChildOutput {
  int code = 0;      ///< its exit code, or 128 and the signal that ended it
  std::string text;  ///< standard output and standard error
};

/// What a child is told where a signal asks this process to end.
enum class ToldToEnd {
  kOnce,
  /// A second time soon after: a run that is only measured has nothing to save.
  kAtOnce,
};

/// The same of a child in a process group of its own, without the terminal, whose output is kept.
/// SIGINT, SIGTERM and SIGHUP are passed on to it, but for those that this process ignores, and its
/// end is waited for. One at a time.
/// @throws SignalledError where one came, or had been noted by EndRequests; EnvironmentError when
/// it cannot be started, or stays stopped.
[[nodiscard]] ChildOutput output_of_child(const std::vector<std::string>& words,
                                          ToldToEnd told = ToldToEnd::kOnce);

}  // namespace gangway::launch
