// SPDX-License-Identifier: MIT
// Whether what a program said has arrived, for the end of its main().
#pragma once

#include <cstdio>
#include <iostream>

#include <sys/stat.h>

#include "base/errors.hpp"

namespace gangway {

/// For a program that has done what it was asked for. A reader that has gone, or was never there,
/// wants no more. @throws EnvironmentError where standard output is a file or a device that has not
/// taken all of it
inline void require_output_taken() {
  std::cout.flush();
  const bool is_taken = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  struct stat status {};
  if (!is_taken && ::fstat(fileno(stdout), &status) == 0 &&
      (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode))) {
    throw EnvironmentError("standard output did not take all of this: is its disk full?");
  }
}

/// What a program has said so far was not what it was asked for: a training's lines are not its
/// result.
inline void forget_lost_output() {
  std::clearerr(stdout);
  std::cout.clear();
}

}  // namespace gangway
