// SPDX-License-Identifier: MIT
// `gangway run-view RUN`, hidden: prints a run directory as one document (docs/control.md). Called
// by tools in Python.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_run_view_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
