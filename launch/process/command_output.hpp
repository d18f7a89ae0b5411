// SPDX-License-Identifier: MIT
// Runs a command through the shell and keeps what it says. Called by `gangway run` before a
// job, main thread.
#pragma once

#include <string>

namespace gangway::launch {

struct CommandOutput {
  int code = 127;    ///< 0 or not: as pclose() gives it
  std::string text;  ///< standard output and standard error
};

[[nodiscard]] CommandOutput output_of(const std::string& command);

}  // namespace gangway::launch
