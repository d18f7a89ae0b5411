// SPDX-License-Identifier: MIT
// `gangway data`: inspects images before a training. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_data_commands(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
