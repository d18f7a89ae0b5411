// SPDX-License-Identifier: MIT
// A command as a child that shares this process's terminal. Called by `gangway bench` and
// `gangway find-lr`, main thread.
#pragma once

#include <string>
#include <vector>

#include "base/errors.hpp"

namespace gangway::launch {

/// A signal has asked this command to end, and it has put away what it had made.
class SignalledError : public Error {
 public:
  explicit SignalledError(int signal)
      : Error(static_cast<ExitCode>(128 + signal), "stopped by a signal; nothing is left behind") {}
};

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
/// SIGINT, SIGTERM and SIGHUP are passed on to it, and its end is waited for. One at a time.
/// @throws SignalledError where one came; EnvironmentError when it cannot be started.
[[nodiscard]] ChildOutput output_of_child(const std::vector<std::string>& words,
                                          ToldToEnd told = ToldToEnd::kOnce);

}  // namespace gangway::launch
