// SPDX-License-Identifier: MIT
// Runs one `gangway run` silently and reads its results. Called by benchmarks and tests of rates.
// Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// Results of one `gangway run`.
struct MeasuredRun {
  std::filesystem::path directory;
  std::string stats;  ///< content of stats.jsonl
};

/// Runs `words`, a `gangway run` command, to its end. @param name  its --run, below `outdir`
/// @throws EnvironmentError with the command and its last output if it failed or left no results
[[nodiscard]] MeasuredRun measured_run(std::vector<std::string> words,
                                       const std::filesystem::path& outdir,
                                       const std::string& name);

/// Returns a `gangway run` command for `job`: writes the job file into `folder`, and names the run
/// `name` below `folder`/runs. The job includes the environment's overrides.
/// @param workers  0: the default number
[[nodiscard]] std::vector<std::string> command_of_run(const JobSpec& job,
                                                      const std::filesystem::path& folder,
                                                      const std::string& name, int workers,
                                                      const Environment& environment);

}  // namespace gangway::launch
