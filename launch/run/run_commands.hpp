// SPDX-License-Identifier: MIT
// Adds `gangway run` and `gangway train` to the command line (CLI11).
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_run_command(CLI::App& app, CommandLine& line);
void add_train_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
