// SPDX-License-Identifier: MIT
#include "report/log_file.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include "base/errors.hpp"

namespace gangway::report {

std::filesystem::path log_file_name(Rank rank) { return fmt::format("rank-{:04}.log", rank); }

std::unique_ptr<spdlog::logger> open_log_file(const std::filesystem::path& run_directory,
                                              Rank rank) {
  const std::filesystem::path path = run_directory / "logs" / log_file_name(rank);
  try {
    auto logger = std::make_unique<spdlog::logger>(
        fmt::format("rank {}", rank),
        std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path.string(), kMostLogBytes, 1));
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e [%n] [%t] %l: %v");
    logger->flush_on(spdlog::level::trace);  // a killed process keeps its last messages
    return logger;
  } catch (const spdlog::spdlog_ex& failure) {
    throw EnvironmentError(
        fmt::format("{}: log file cannot be opened ({}); check the folder and its permissions",
                    path.string(), failure.what()));
  }
}

}  // namespace gangway::report
