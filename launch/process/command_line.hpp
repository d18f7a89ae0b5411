// SPDX-License-Identifier: MIT
// What the subcommands of `gangway` share while a command line is read. Main thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/process/environment.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace gangway::launch {

struct CommandLine {
  const Environment& environment;
  const std::vector<std::string>& typed;  ///< all of it, the program's name first
  /// What the command that was given does, and its exit code; set by that command's callback once
  /// its options have been read.
  std::function<int()> action;
};

/// Adds a command: options, help, examples, and the callback that sets `line.action`.
using AddCommand = void (*)(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
