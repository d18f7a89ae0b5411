// SPDX-License-Identifier: MIT
// One `gangway run` that is measured: started by a benchmark or a test of rates, silent, and read
// afterwards. Main thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "job/spec.hpp"

namespace gangway::launch {

/// What `words`, a whole `gangway run` command, have left.
struct MeasuredRun {
  std::filesystem::path directory;
  std::string stats;  ///< stats.jsonl
};

/// Runs it to its end. @param name  that it gives its run with --run, below `outdir`.
/// @throws EnvironmentError with the command and its last words when it failed or left nothing.
[[nodiscard]] MeasuredRun measured_run(std::vector<std::string> words,
                                       const std::filesystem::path& outdir,
                                       const std::string& name);

/// Such a command: `gangway run` of `job`, whose file it writes into `folder`, as run `name` below
/// `folder`/runs. The job holds all that the environment has said about its keys.
/// @param workers  0: as many as it takes
[[nodiscard]] std::vector<std::string> command_of_run(const JobSpec& job,
                                                      const std::filesystem::path& folder,
                                                      const std::string& name, int workers,
                                                      const Environment& environment);

}  // namespace gangway::launch
