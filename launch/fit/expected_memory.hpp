// SPDX-License-Identifier: MIT
// Predicts the memory of a job's largest worker, for `--dry-run` and `--fit`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "job/spec.hpp"

namespace gangway::launch {

struct ExpectedMemory {
  std::int64_t bytes = 0;
  std::string rows;  ///< title and rows of a profile's measurement; empty: `bytes` is an estimate
};

/// Uses the profile of `job_file` if it matches `job` and the number of devices, like `gangway
/// plan`. Otherwise uses estimate_memory.
[[nodiscard]] ExpectedMemory expected_memory(const JobSpec& job,
                                             const std::filesystem::path& job_file, int workers);

}  // namespace gangway::launch
