// SPDX-License-Identifier: MIT
// Finds the state of a run whose coordinator does not answer: it may not listen yet, or the run's
// processes are gone. Reads the run directory and this host's process table. Takes no
// lock, so that it never delays a start. Called by `gangway status` and similar commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gangway {

enum class RunTrace {
  kNone,         ///< no run was started in the folder
  kLaunching,    ///< `gangway run` lives; its coordinator has not started yet
  kComing,       ///< the coordinator lives, but does not listen yet, or does not listen at all
  kOnOtherHost,  ///< a process on another host holds the run; its state is unknown here
  kGone,         ///< the process that held the run last has ended and left no status
};

struct UnansweredRun {
  RunTrace trace = RunTrace::kNone;
  std::string host;      ///< host of the process that holds, or last held, the run's lock
  std::int64_t pid = 0;  ///< that process
  double seconds = 0;    ///< time since it took the lock
};

[[nodiscard]] UnansweredRun look_at_unanswered(const std::filesystem::path& run);

/// Returns "gangway run (pid 412) began it 2 s ago and starts its processes", for display, without
/// the run's name. Empty for kNone.
[[nodiscard]] std::string describe(const UnansweredRun& run);

}  // namespace gangway
