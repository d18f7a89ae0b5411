// SPDX-License-Identifier: MIT
// Command line of `gangway` and of `gangway-tools`: each parses its own commands and starts the
// other programs for theirs. Called by main().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/process/command_line.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

/// Value of OtherCommand::program for a command of the Python package gangway.tools.
inline constexpr const char* kPython = "";

/// A command that another program runs. That program has the command's help.
struct OtherCommand {
  const char* name;
  const char* program;
  const char* what;
};

/// The commands of one program, in the order of --help.
struct ProgramCommands {
  std::span<const AddCommand> own;
  std::span<const OtherCommand> others;
};

/// Parses the command line and runs the command. A command of another program replaces this
/// process. @param typed  as in main(), with the program's name
/// @return exit code. @throws Error; a wrong command line is a ConfigError of one line
[[nodiscard]] int run_command_line(const ProgramCommands& commands,
                                   const std::vector<std::string>& typed, Environment environment);

/// Runs all of main(): runs the command line and prints an error as one line per problem.
/// @return exit code of the process
[[nodiscard]] int main_of(const ProgramCommands& commands, const std::vector<std::string>& typed);

}  // namespace gangway::launch
