// SPDX-License-Identifier: MIT
// How a measuring program under mpirun begins and ends.
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"

namespace gangway::bench {

/// Without MPI_Finalize, which would wait for the others: mpirun ends them.
[[noreturn]] inline void leave(std::string_view program, std::string_view reason, ExitCode code) {
  // One write, for all workers may find the same error.
  fmt::print(stderr, "{}: {}\n", program, reason);
  (void)std::fflush(nullptr);
  ::_exit(static_cast<int>(code));
}

/// `run`'s exit code; what it throws becomes one line that `program` begins.
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
