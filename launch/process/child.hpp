// SPDX-License-Identifier: MIT
// Runs commands as children and waits for them. Also notes the signals that ask a command to end
// while none of its children runs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/system/start_child.hpp"

namespace gangway::launch {

/// Thrown after a signal asked this command to end and the command removed its files.
class SignalledError : public Error {
 public:
  explicit SignalledError(int signal)
      : Error(static_cast<ExitCode>(kEndedBySignal + signal),
              "stopped by a signal; nothing is left behind") {}
};

/// Notes SIGINT, SIGTERM and SIGHUP from construction on, so that the process can end at heed() and
/// remove its files. The handlers stay installed: the process does nothing else. Main thread.
class EndRequests {
 public:
  EndRequests();
  /// @throws SignalledError if a signal was noted
  static void heed();
};

/// Runs `words` to its end. Ctrl-C reaches both child and this process, which waits for the child.
/// The child gets SIGTERM when this process dies. Main thread.
/// @return its exit code, or 128 plus the signal that ended it
/// @throws EnvironmentError if it cannot be started
[[nodiscard]] int run_child(const std::vector<std::string>& words);

struct ChildOutput {
  int code = kProgramNotFound;  ///< its exit code, or 128 plus the signal that ended it
  std::string text;             ///< standard output and standard error
};

/// How often a child gets the signal that asks this process to end.
enum class SignalCount {
  kOnce,
  /// Twice, soon after each other: a measured run has nothing to save.
  kAtOnce,
};

/// Runs a child in its own process group, without the terminal, and keeps its output. Forwards
/// SIGINT, SIGTERM and SIGHUP, except those that this process ignores, and waits for its end; kills
/// it 10 s after the signal. One child at a time, main thread.
/// @throws SignalledError if a signal came, or EndRequests had noted one; EnvironmentError if the
/// child cannot be started, or stays stopped
[[nodiscard]] ChildOutput output_of_child(const std::vector<std::string>& words,
                                          SignalCount told = SignalCount::kOnce);

/// Exit code of a child that output_within has ended.
inline constexpr int kTookTooLong = 124;

/// Runs a child without the terminal and keeps its output. The child ends with this process, and
/// after `limit`: it gets SIGTERM, and SIGKILL a second later. A second after that, output of
/// processes outside its group is no longer read. Any thread, which lives until then.
/// @return code kProgramNotFound also if the child cannot be started
[[nodiscard]] ChildOutput output_within(std::chrono::seconds limit, std::vector<std::string> words);

}  // namespace gangway::launch
