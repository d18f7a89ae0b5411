// SPDX-License-Identifier: MIT
// Runs the main function of a benchmark under mpirun and turns its errors into exit codes.
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::bench {

/// Prints `reason` and exits without MPI_Finalize, which would block. mpirun ends the other ranks.
[[noreturn]] inline void leave(std::string_view program, std::string_view reason, ExitCode code) {
  // Print in one write, because all workers may report the same error at once.
  fmt::print(stderr, "{}: {}\n", program, reason);
  (void)std::fflush(nullptr);
  ::_exit(static_cast<int>(code));
}

/// Returns `run`'s exit code. Prints an exception as one line that begins with `program`.
template <typename Run>
int run_bench(std::string_view program, const Run& run) {
  try {
    return run();
  } catch (const Error& error) {
    leave(program, error.what(), error.code());
  } catch (const std::exception& error) {
    leave(program, error.what(), ExitCode::kInternal);
  }
}

}  // namespace gangway::bench
