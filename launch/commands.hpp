// SPDX-License-Identifier: MIT
// The subcommands of `gangway` as CLI11 sees them: names, options, help, examples. Called by
// main().
#pragma once

#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace gangway::launch {

/// Parses the command line and carries it out.
/// @param typed as main() got it, the program's name first.
/// @return exit code. @throws Error; what is wrong with the command line itself is a ConfigError of
/// one line.
[[nodiscard]] int run_command_line(const std::vector<std::string>& typed, Environment environment);

}  // namespace gangway::launch
