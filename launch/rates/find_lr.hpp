// SPDX-License-Identifier: MIT
// `gangway find-lr`: the learning rate range test (Smith, 2017, section 3.3), by a short training
// of the real `gangway run` in a temporary folder, whose rate rises by equal factors from step to
// step. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/spec.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

struct FindLrOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::string network;  ///< whose rate rises; empty: those of all that are trained
  double from = 1e-6;
  double to = 1.0;
  int steps = 300;
  int workers = 0;                ///< 0: as many as `gangway run` takes
  std::filesystem::path picture;  ///< empty: none
};

/// The networks whose rate rises. @throws ConfigError for one that there is not, or that is frozen
[[nodiscard]] std::vector<std::string> tested_networks(const JobSpec& job,
                                                       const std::string& network);

/// The job that is run: as `job`, but for the rates of `tested`, its length and what it writes. Its
/// other schedules are where they would be after as many images.
[[nodiscard]] JobSpec range_job(const JobSpec& job, const std::vector<std::string>& tested,
                                const FindLrOptions& options);

/// By step, as the job has them.
[[nodiscard]] std::vector<double> range_rates(const JobSpec& range_job, const std::string& tested);

/// @return exit code. @throws Error, with the last words of a run that failed
[[nodiscard]] int find_lr(const FindLrOptions& options, const Environment& environment);

}  // namespace gangway::launch
