// SPDX-License-Identifier: MIT
// `gangway init slurm|k8s|docker JOB.yaml`: writes what a scheduler or a builder of containers
// needs for a job (docs/operating.md). Main thread.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_init_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
