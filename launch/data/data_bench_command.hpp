// SPDX-License-Identifier: MIT
// `gangway data bench`: times the loading of a job's examples; names the bottleneck. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

/// @param group  the command `gangway data`
void add_data_bench_command(CLI::App& group, CommandLine& line);

}  // namespace gangway::launch
