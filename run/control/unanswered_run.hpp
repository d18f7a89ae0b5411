// SPDX-License-Identifier: MIT
// Finds out the state of a run whose coordinator does not answer: it does not listen yet, or all
// processes of the run are gone. Reads the run directory and this host's process table. Takes no
// lock, so that it never delays a start. Called by `gangway status` and the like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gangway {

enum class RunTrace {
  kNone,         ///< nothing was begun in the folder
  kLaunching,    ///< `gangway run` lives, its coordinator has not come yet
  kComing,       ///< the coordinator lives, and cannot be asked yet, or does not want to be
  kOnOtherHost,  ///< a process of another host has begun it: unknown from here
  kGone,         ///< the process that worked at it last has ended without saying how
};

struct UnansweredRun {
  RunTrace trace = RunTrace::kNone;
  std::string host;      ///< of the process that has, or last had, the run
  std::int64_t pid = 0;  ///< its
  double seconds = 0;    ///< since it took the run
};

[[nodiscard]] UnansweredRun look_at_unanswered(const std::filesystem::path& run);

/// "gangway run (pid 412) began it 2 s ago and starts its processes": for people, without the run's
/// name. Empty where nothing was begun.
[[nodiscard]] std::string describe(const UnansweredRun& run);

}  // namespace gangway
