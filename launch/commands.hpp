// SPDX-License-Identifier: MIT
// The commands of the two programs: `gangway` trains, `gangway-tools` starts runs and reads what
// they wrote.
#pragma once

#include "launch/process/program_commands.hpp"

namespace gangway::launch {

/// The commands of `gangway`. ./launch/quickstart builds it, with the coordinator and the worker,
/// before it trains.
[[nodiscard]] ProgramCommands gangway_commands();

/// The commands of `gangway-tools`, which `gangway` starts.
[[nodiscard]] ProgramCommands tools_commands();

}  // namespace gangway::launch
