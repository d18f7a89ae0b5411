// SPDX-License-Identifier: MIT
// One `gangway run` that is measured: started by a benchmark or a test of rates, silent, and read
// afterwards. Main thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gangway::launch {

/// What `words`, a whole `gangway run` command, have left.
struct MeasuredRun {
  std::filesystem::path directory;
  std::string stats;  ///< stats.jsonl
  bool has_diverged = false;
};

/// Whether a run that diverges has failed, or come to one of the ends that are looked for.
enum class MayDiverge { kNo, kYes };

/// Runs it to its end. @param name  that it gives its run with --run, below `outdir`.
/// @throws EnvironmentError with the command and its last words when it failed or left nothing.
[[nodiscard]] MeasuredRun measured_run(std::vector<std::string> words,
                                       const std::filesystem::path& outdir, const std::string& name,
                                       MayDiverge may_diverge = MayDiverge::kNo);

/// What an ended run that was called `name` has left below `outdir`; nothing: it left nothing.
[[nodiscard]] std::optional<MeasuredRun> left_by_run(const std::filesystem::path& outdir,
                                                     const std::string& name);

}  // namespace gangway::launch
