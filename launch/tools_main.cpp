// SPDX-License-Identifier: MIT
// gangway-tools: commands that start runs and read their files. Called by `gangway`, by name.
#include "launch/commands.hpp"

int main(int argc, char** argv) {
  return gangway::launch::main_of(gangway::launch::tools_commands(), {argv, argv + argc});
}
