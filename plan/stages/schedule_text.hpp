// SPDX-License-Identifier: MIT
// Prints the instructions of each worker of a layout for `gangway plan --schedule`. Validates them
// first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/predict.hpp"

namespace gangway::plan {

/// Returns the list of a step by worker; with lazy phases, also that of a step without them.
/// @throws ConfigError if the lists are too long to read
/// @throws InvariantError naming rank and instruction, if the lists are not sound
[[nodiscard]] std::vector<std::string> schedule_texts(const PlanInput& input,
                                                      const Candidate& candidate);

/// Creates `folder` and writes rank-1.txt and so on; "-": to standard output. Main thread.
/// @throws EnvironmentError if it cannot write
void write_schedule(const std::vector<std::string>& texts, const std::filesystem::path& folder);

}  // namespace gangway::plan
