// SPDX-License-Identifier: MIT
// State that the subcommands of `gangway` share while a command line is parsed. Main thread.
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
  const std::vector<std::string>& typed;  ///< the whole command line, with the program's name
  /// Runs the given command and returns its exit code. That command's callback sets it after its
  /// options have been parsed.
  std::function<int()> action;
};

/// Adds a command: options, help, examples, and the callback that sets `line.action`.
using AddCommand = void (*)(CLI::App& app, CommandLine& line);

}  // namespace gangway::launch
