// SPDX-License-Identifier: MIT
// `gangway store-times`, hidden: measures the checkpoint store alone. Called by `gangway bench
// checkpoint` in Python. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_store_times_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
