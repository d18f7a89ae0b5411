// SPDX-License-Identifier: MIT
// The gangway command: loads no LibTorch, so that it answers in milliseconds.
#include "launch/commands.hpp"

int main(int argc, char** argv) {
  return gangway::launch::main_of(gangway::launch::gangway_commands(), {argv, argv + argc});
}
