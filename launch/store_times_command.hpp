// SPDX-License-Identifier: MIT
// `gangway store-times`, hidden: what `gangway bench checkpoint` in Python asks of the store alone.
// Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_store_times_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
