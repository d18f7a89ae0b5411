// SPDX-License-Identifier: MIT
// `gangway scale`: trains a job for some steps on several numbers of workers, in turns, by the real
// `gangway run`, and sets what it measures beside prediction, fit, and processes that know nothing
// of one another. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"
#include "launch/scale/scale_figures.hpp"

namespace gangway::launch {

struct ScaleOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::vector<int> workers{1, 2};
  std::vector<ScalingKind> kinds{ScalingKind::kStrong, ScalingKind::kWeak};
  std::filesystem::path profile;  ///< empty: default_profile_file(), if it is there
  std::filesystem::path picture;  ///< PNG; empty: none
  std::string outdir;             ///< of the runs; empty: a temporary folder
  int rounds = 3;
  int steps = 60;  ///< of a run, the first quarter as warm-up
  bool anyway = false;
};

/// @return exit code. @throws Error, with the last words of a run that failed.
[[nodiscard]] int scale(const ScaleOptions& options, const Environment& environment);

}  // namespace gangway::launch
