// SPDX-License-Identifier: MIT
// `gangway digest`.
#pragma once

#include "launch/process/command_line.hpp"

namespace gangway::launch {

void add_digest_command(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
