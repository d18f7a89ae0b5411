// SPDX-License-Identifier: MIT
// The command line of `gangway` and of `gangway-tools`: each reads its own commands and starts the
// program of the others. Called by main().
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/process/command_line.hpp"
#include "launch/process/environment.hpp"

namespace gangway::launch {

/// In place of a program: the command is a module of the package gangway.tools.
inline constexpr const char* kPython = "";

/// A command that another program carries out. That program has the command's help.
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

/// Parses the command line and carries it out. A command of another program replaces this process.
/// @param typed as main() got it, the program's name first.
/// @return exit code. @throws Error; what is wrong with the command line itself is a ConfigError of
/// one line.
[[nodiscard]] int run_command_line(const ProgramCommands& commands,
                                   const std::vector<std::string>& typed, Environment environment);

/// All of main(): carries the command line out and prints an error as one line a problem.
/// @return exit code of the process
[[nodiscard]] int main_of(const ProgramCommands& commands, const std::vector<std::string>& typed);

}  // namespace gangway::launch
