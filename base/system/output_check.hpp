// SPDX-License-Identifier: MIT
// Checks that standard output was written whole. Called at the end of a main().
#pragma once

#include <cstdio>
#include <iostream>

#include <sys/stat.h>

#include "base/errors.hpp"

namespace gangway {

/// Flushes standard output and checks it. Ignores a pipe whose reader has gone, because that reader
/// wants no more. @throws EnvironmentError if standard output is a file or device that did not take
/// all output
inline void require_output_taken() {
  std::cout.flush();
  const bool is_taken = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  struct stat status {};
  if (!is_taken && ::fstat(fileno(stdout), &status) == 0 &&
      (S_ISREG(status.st_mode) || S_ISCHR(status.st_mode))) {
    throw EnvironmentError("standard output did not take all of this: is its disk full?");
  }
}

/// Forgets write errors so far. For a program whose output is not its result, such as a training's
/// log lines.
inline void forget_lost_output() {
  std::clearerr(stdout);
  std::cout.clear();
}

}  // namespace gangway
