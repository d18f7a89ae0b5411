// SPDX-License-Identifier: MIT
// The log file of a rank, logs/rank-0003.log. main() of coordinator and worker makes it and passes
// it on: there is no global logger.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include <spdlog/logger.h>

namespace gangway::report {

/// "rank-0003.log"
[[nodiscard]] std::filesystem::path log_file_name(int rank);

/// Then it becomes rank-NNNN.1.log in the place of the one before, and a new one begins.
inline constexpr std::size_t kMostLogBytes = std::size_t{64} << 20U;

/// Opens logs/rank-NNNN.log under `run_directory` to append (folder made if missing); each message
/// is flushed, with time, level and thread. May be used from any thread. @throws EnvironmentError
/// naming the path.
[[nodiscard]] std::unique_ptr<spdlog::logger> open_log_file(
    const std::filesystem::path& run_directory, int rank);

}  // namespace gangway::report
