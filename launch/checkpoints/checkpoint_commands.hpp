// SPDX-License-Identifier: MIT
// `gangway checkpoints ls|verify|show|diff|export|pin|unpin|rm|scrub`. Exit code 5 if a checkpoint
// is damaged; diff exits with 1 if the checkpoints differ.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_checkpoint_commands(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
