// SPDX-License-Identifier: MIT
// Opens the log file of a rank, logs/rank-0003.log. main() of coordinator and worker opens it and
// passes the logger on; there is no global logger.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include <spdlog/logger.h>

#include "base/index.hpp"

namespace gangway::report {

/// Returns "rank-0003.log".
[[nodiscard]] std::filesystem::path log_file_name(Rank rank);

/// Size at which a log is renamed to rank-NNNN.1.log (replacing it) and a new log begins.
inline constexpr std::size_t kMostLogBytes = std::size_t{64} << 20U;

/// Opens logs/rank-NNNN.log under `run_directory` to append (folder made if missing). Flushes each
/// message, with time, level and thread. Any thread. @throws EnvironmentError naming the path.
[[nodiscard]] std::unique_ptr<spdlog::logger> open_log_file(
    const std::filesystem::path& run_directory, Rank rank);

}  // namespace gangway::report
