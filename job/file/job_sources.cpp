// SPDX-License-Identifier: MIT
#include "job/file/job_sources.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gangway {

JobFileError::JobFileError(std::vector<std::string> problems)
    : ConfigError(fmt::format("{}", fmt::join(problems, "\n"))), problems_(std::move(problems)) {}

}  // namespace gangway
