// SPDX-License-Identifier: MIT
// `gangway bench job`: one report of what a job does on this machine: rates, parts of a step, use
// of cores, bandwidth, scaling, recovery, score. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::launch {

struct BenchJobOptions {
  std::filesystem::path job;
  std::vector<std::string> overrides;
  std::vector<int> workers;  ///< empty: one, and as many as cores and micro-batches allow
  int rounds = 3;
  int steps = 60;         ///< of a run, the first quarter as warm-up
  int losses = 2;         ///< workers that are killed, to see how long the job takes to go on
  bool is_scored = true;  ///< whether the last run's generator is
  std::filesystem::path output;  ///< without its ending; empty: JOB.bench here
  bool anyway = false;
};

/// Writes OUTPUT.json and OUTPUT.html. @return exit code.
/// @throws Error, with the last words of a run that failed
[[nodiscard]] int bench_job(const BenchJobOptions& options, const Environment& environment);

}  // namespace gangway::launch
