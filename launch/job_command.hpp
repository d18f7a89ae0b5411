// SPDX-License-Identifier: MIT
// `gangway job`: prints the resolved job, for people and tools (share/python/gangway/tools).
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_job_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
