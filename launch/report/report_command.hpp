// SPDX-License-Identifier: MIT
// `gangway report`: a run's page as one file. Called by launch/commands.cpp.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_report_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
