// SPDX-License-Identifier: MIT
// `gangway tune`: tries what may change of a job without a bit changing, by short runs in turns,
// and writes down what is faster beyond doubt. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::launch {

struct TuneOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  int workers = 0;                 ///< 0: whatever number is fastest
  std::filesystem::path profile;   ///< empty: default_profile_file(), or one that is made for this
  std::filesystem::path output;    ///< empty: JOB.tuned.yaml beside the job
  std::filesystem::path hostfile;  ///< of all trials; empty: Slurm's allocation, or this host
  double seconds = 2.0;            ///< of the first round's runs
  bool new_job = false;            ///< whether numbers may change
  bool anyway = false;
  std::string program = "gangway";  ///< as it was typed, for the command that is printed
};

/// @return exit code: done, whether there is something faster or not.
/// @throws Error, with the last words of the job as it was typed where that fails
[[nodiscard]] int tune(const TuneOptions& options, const Environment& environment);

}  // namespace gangway::launch
