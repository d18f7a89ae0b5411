// SPDX-License-Identifier: MIT
// gangway-tools: the commands that start runs and read what these wrote. `gangway` starts it by its
// name for them.
#include "launch/commands.hpp"

int main(int argc, char** argv) {
  return gangway::launch::main_of(gangway::launch::tools_commands(), {argv, argv + argc});
}
