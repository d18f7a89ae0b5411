// SPDX-License-Identifier: MIT
// `gangway advise`: suggests changes that make a run faster. Called by launch/commands.cpp.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_advise_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
