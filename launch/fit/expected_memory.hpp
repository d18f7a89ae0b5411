// SPDX-License-Identifier: MIT
// The memory that a job's largest worker is expected to need, for `--dry-run` and `--fit`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "job/spec.hpp"

namespace gangway::launch {

struct ExpectedMemory {
  std::int64_t bytes = 0;
  std::string rows;  ///< title and rows of what a profile measured; empty: `bytes` is an estimate
};

/// By the profile of `job_file`, where it fits `job` and knows as many devices: the figure of
/// `gangway plan`. Else by estimate_memory.
[[nodiscard]] ExpectedMemory expected_memory(const JobSpec& job,
                                             const std::filesystem::path& job_file, int workers);

}  // namespace gangway::launch
