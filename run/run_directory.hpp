// SPDX-License-Identifier: MIT
// Where a run keeps what it leaves: `OUTDIR/00003-NAME/` (docs/run-directory.md), chosen by
// `gangway run` or, under a bare mpirun, by the coordinator.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace gangway {

/// The newest directory of the run `name` (`NAME` or `00003-NAME`), absolute, of the caller's where
/// there is one; nothing if there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_run(const std::filesystem::path& outdir,
                                                            const std::string& name);

/// How long another start may be choosing in the same folder.
inline constexpr std::chrono::milliseconds kChoosingPatience{30'000};

/// Makes `OUTDIR/NNNNN-NAME`, one above the highest number there, and returns it, absolute.
/// @throws ConfigError for a bad name, EnvironmentError if it cannot be made, or not in time.
[[nodiscard]] std::filesystem::path create_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

/// The run's existing directory, else a new one: what `--run NAME` means. One that neither the
/// caller, root nor the owner of `outdir` has made is none of it.
[[nodiscard]] std::filesystem::path open_run(
    const std::filesystem::path& outdir, const std::string& name,
    std::chrono::milliseconds patience = kChoosingPatience);

}  // namespace gangway
