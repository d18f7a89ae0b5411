// SPDX-License-Identifier: MIT
// `gangway plan --schedule`: what each worker of a layout would carry out, to read. Validated
// before it is written.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/predict.hpp"

namespace gangway::plan {

/// By worker. Of a step, and where phases are not in every step, of one without them too.
/// @throws ConfigError where there are too many to be read
/// @throws InvariantError naming rank and instruction, where they are not sound
[[nodiscard]] std::vector<std::string> schedule_texts(const PlanInput& input,
                                                      const Candidate& candidate);

/// Into `folder`, which is made: rank-1.txt and so on; "-": to standard output. Main thread.
/// @throws EnvironmentError where it cannot be written
void write_schedule(const std::vector<std::string>& texts, const std::filesystem::path& folder);

}  // namespace gangway::plan
