// SPDX-License-Identifier: MIT
// `gangway find-lr` on the command line.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_find_lr_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
