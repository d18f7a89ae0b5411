// SPDX-License-Identifier: MIT
// What can be told of a run that nobody can ask: it has just been begun and does not listen yet, or
// everything that worked at it is gone. Looks at the run directory and at this host's processes;
// locks nothing, so that it never stands in a start's way. Called by `gangway status` and the like.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace gangway {

enum class RunTrace {
  kNone,         ///< nothing was begun in the folder
  kLaunching,    ///< `gangway run` lives, its coordinator has not come yet
  kComing,       ///< the coordinator lives, and cannot be asked yet, or does not want to be
  kOnOtherHost,  ///< somebody on another host has begun it: not to be known from here
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
