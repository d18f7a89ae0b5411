// SPDX-License-Identifier: MIT
// `gangway init job FOLDER_OR_FILE`: looks at the pictures, the machine and the time, tries the job
// for some seconds, and writes it with a reason beside each choice (docs/init-job.md). Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

/// Adds `job` to the command `init`.
void add_init_job(CLI::App& init, CommandLine& line);

}  // namespace gangway::launch
