// SPDX-License-Identifier: MIT
// Whether a job's data can be trained on, asked before a run is made, and by --dry-run: what would
// end the workers' start ends here, with the same line. Called by `gangway run` where the data of
// this host are those of the workers.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::launch {

/// Opens the data as workers do and reads the first example.
/// @return what people should know of data that can be trained on, a line each
/// @throws ConfigError where they cannot
[[nodiscard]] std::vector<std::string> require_data(const JobSpec& spec);

}  // namespace gangway::launch
