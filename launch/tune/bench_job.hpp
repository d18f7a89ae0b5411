// SPDX-License-Identifier: MIT
// `gangway bench job`: one report of what a job does on this machine: rates, parts of a step, use
// of cores, bandwidth, scaling, recovery, score. `gangway bench node` has one of a job of its own.
// Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "launch/process/environment.hpp"
#include "launch/process/time_limit.hpp"

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
  /// Nothing: it takes what it takes. Else steps follow from it, rounds are left out that would be
  /// too long, and what cannot be measured is told in "failures" instead of thrown.
  const TimeLimit* limit = nullptr;
};

/// What OUTPUT.json holds, measured with runs below `folder`. @throws Error
[[nodiscard]] nlohmann::json measured_job(const BenchJobOptions& options,
                                          const Environment& environment,
                                          const std::filesystem::path& folder);

/// OUTPUT.json and OUTPUT.html. @throws EnvironmentError
void write_report(const std::string& output, const nlohmann::json& report, const std::string& page);

/// Writes OUTPUT.json and OUTPUT.html. @return exit code.
/// @throws Error, with the last words of a run that failed
[[nodiscard]] int bench_job(const BenchJobOptions& options, const Environment& environment);

}  // namespace gangway::launch
