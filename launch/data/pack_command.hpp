// SPDX-License-Identifier: MIT
// `gangway data pack`: decodes and resizes pictures once, for many trainings. Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

/// @param group  the command `gangway data`
void add_pack_command(CLI::App& group, CommandLine& line);

}  // namespace gangway::launch
