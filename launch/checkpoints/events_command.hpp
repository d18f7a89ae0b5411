// SPDX-License-Identifier: MIT
// `gangway events`: what was decided while a run was trained, and why.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_events_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
