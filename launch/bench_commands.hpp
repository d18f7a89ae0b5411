// SPDX-License-Identifier: MIT
// `gangway bench` on the command line: names, options, help.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_bench_commands(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
