// SPDX-License-Identifier: MIT
// `gangway export-metrics RUN`: hands a run's ticks to a tracker of experiments, by a script of
// Python's (share/export_metrics.py) that loads the tracker's own client.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_export_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
