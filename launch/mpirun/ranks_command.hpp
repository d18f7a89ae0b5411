// SPDX-License-Identifier: MIT
// `gangway ranks`, hidden: starts a measuring program under mpirun, as `gangway run` starts a job.
// `gangway bench` in Python calls it. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_ranks_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
