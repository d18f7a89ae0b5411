// SPDX-License-Identifier: MIT
// Commands of the two programs: `gangway` trains; `gangway-tools` starts runs and reads their
// files.
#pragma once

#include "launch/process/program_commands.hpp"

namespace gangway::launch {

/// Returns the commands of `gangway`. ./launch/quickstart builds this program, the coordinator and
/// the worker before it trains.
[[nodiscard]] ProgramCommands gangway_commands();

/// Returns the commands of `gangway-tools`, which `gangway` starts.
[[nodiscard]] ProgramCommands tools_commands();

}  // namespace gangway::launch
