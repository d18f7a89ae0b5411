// SPDX-License-Identifier: MIT
// Whether what a program said has arrived, for the end of its main().
#pragma once

#include <cstdio>
#include <iostream>

#include <sys/stat.h>

namespace gangway {

/// False where standard output is a file or a device that has not taken all of it. A reader that
/// has gone, or was never there, wants no more.
[[nodiscard]] inline bool output_has_arrived() {
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  struct stat status {};
  return arrived || ::fstat(fileno(stdout), &status) != 0 ||
         !(S_ISREG(status.st_mode) || S_ISCHR(status.st_mode));
}

/// What a program has said so far was not what it was asked for: a training's lines are not its
/// result.
inline void forget_lost_output() {
  std::clearerr(stdout);
  std::cout.clear();
}

}  // namespace gangway
