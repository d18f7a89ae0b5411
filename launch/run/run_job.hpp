// SPDX-License-Identifier: MIT
// `gangway run`: checks the job, chooses the run directory, builds the mpirun command and
// supervises it.
#pragma once

#include <string>
#include <vector>

#include "launch/process/environment.hpp"
#include "launch/run/prepare.hpp"

namespace gangway::launch {

/// @param typed  the whole command line, for command.txt and for advice
/// @return exit code. @throws Error
[[nodiscard]] int run_job(const RunOptions& options, const Environment& environment,
                          const std::vector<std::string>& typed);

}  // namespace gangway::launch
