// SPDX-License-Identifier: MIT
// Turns RUN or RUN@STEP of the command line into a run directory and a step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway::launch {

struct RunReference {
  std::string run;                   ///< run directory, or run name
  std::optional<std::int64_t> step;  ///< checkpoint step; nullopt: none given
};

/// Parses "NAME", "NAME@120" or "runs/00003-NAME". @throws ConfigError if the step is no number.
[[nodiscard]] RunReference parse_run_reference(const std::string& text);

/// Returns the run directory. @throws ConfigError if the run does not exist.
[[nodiscard]] std::filesystem::path find_run_directory(const RunReference& reference,
                                                       const std::filesystem::path& outdir);

/// Returns the step of the run's newest complete checkpoint; nullopt if it has none.
[[nodiscard]] std::optional<std::int64_t> newest_checkpoint(
    const std::filesystem::path& run_directory);

}  // namespace gangway::launch
