// SPDX-License-Identifier: MIT
// Runs a command through the shell and keeps its output. Called by `gangway run` before a job, main
// thread.
#pragma once

#include <string>

namespace gangway::launch {

struct CommandOutput {
  int code = 127;    ///< as pclose() returns it; 0: success
  std::string text;  ///< standard output and standard error
};

[[nodiscard]] CommandOutput output_of(const std::string& command);

}  // namespace gangway::launch
