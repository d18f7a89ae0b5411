// SPDX-License-Identifier: MIT
// `gangway checkpoints ls|verify|show|diff|export|pin|unpin|rm|scrub`. Exit code 5 where a
// checkpoint is damaged; of diff: 1 where they differ.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_checkpoint_commands(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
