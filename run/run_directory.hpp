// SPDX-License-Identifier: MIT
// Finds or makes a run's directory, `OUTDIR/00003-NAME/` (docs/run-directory.md). Called by
// `gangway run` or, under a bare mpirun, by the coordinator.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway {

/// Returns the newest directory of the run `name` (`NAME` or `00003-NAME`), absolute; nothing if
/// there is none. Prefers directories that the caller owns.
[[nodiscard]] std::optional<std::filesystem::path> find_run(const std::filesystem::path& outdir,
                                                            const std::string& name);

/// Time to wait for another start that is choosing a directory in the same folder.
inline constexpr std::chrono::milliseconds kChoosingPatience{30'000};

/// Makes `OUTDIR/NNNNN-NAME`, one above the highest number there, and returns it, absolute.
/// @throws ConfigError for a bad name, EnvironmentError if it cannot be made, or not in time.
[[nodiscard]] std::filesystem::path create_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

/// Returns the run's existing directory, else makes one, as `--run NAME` means. Ignores a directory
/// that belongs to neither the caller, root nor the owner of `outdir`.
[[nodiscard]] std::filesystem::path open_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

}  // namespace gangway
