// SPDX-License-Identifier: MIT
// From RUN or RUN@STEP on the command line to a run directory and a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway::launch {

struct RunReference {
  std::string run;                   ///< a directory, or the name of a run
  std::optional<std::int64_t> step;  ///< of a checkpoint
};

/// "NAME", "NAME@120", "runs/00003-NAME". @throws ConfigError when the step is no number.
[[nodiscard]] RunReference parse_run_reference(const std::string& text);

/// @throws ConfigError when there is no such run.
[[nodiscard]] std::filesystem::path find_run_directory(const RunReference& reference,
                                                       const std::filesystem::path& outdir);

/// Step of the run's newest complete checkpoint.
[[nodiscard]] std::optional<std::int64_t> newest_checkpoint(
    const std::filesystem::path& run_directory);

}  // namespace gangway::launch
