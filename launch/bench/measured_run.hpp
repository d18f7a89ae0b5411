// SPDX-License-Identifier: MIT
// One `gangway run` that is measured: started by a benchmark, silent, and read afterwards. Main
// thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gangway::launch {

/// What `words`, a whole `gangway run` command, have left.
struct MeasuredRun {
  std::filesystem::path directory;
  std::string stats;  ///< stats.jsonl
};

/// Runs it to its end. @param name  that it gives its run with --run, below `outdir`.
/// @throws EnvironmentError with the command and its last words when it failed or left nothing.
[[nodiscard]] MeasuredRun measured_run(const std::vector<std::string>& words,
                                       const std::filesystem::path& outdir,
                                       const std::string& name);

}  // namespace gangway::launch
