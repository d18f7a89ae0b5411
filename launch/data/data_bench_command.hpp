// SPDX-License-Identifier: MIT
// `gangway data bench`: how fast a job's examples come, and what holds them up. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

/// @param group  the command `gangway data`
void add_data_bench_command(CLI::App& group, CommandLine& line);

}  // namespace gangway::launch
