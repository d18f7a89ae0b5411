// SPDX-License-Identifier: MIT
// `gangway plan`.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_plan_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
