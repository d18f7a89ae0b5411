// SPDX-License-Identifier: MIT
// `gangway tune` on the command line.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_tune_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
