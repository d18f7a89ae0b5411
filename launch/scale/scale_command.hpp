// SPDX-License-Identifier: MIT
// `gangway scale`.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_scale_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
