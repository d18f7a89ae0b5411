// SPDX-License-Identifier: MIT
// Makes the token that names the shared memory of the ranks of one start.
#pragma once

#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

namespace gangway::bench {

/// Returns `program` and a number that rank 0 draws; equal on all `ranks`, which all call it.
inline std::string agree_on_token(MPI_Comm ranks, std::string_view program) {
  std::random_device random;
  unsigned long number = (static_cast<unsigned long>(random()) << 32U) | random();
  MPI_Bcast(&number, 1, MPI_UNSIGNED_LONG, 0, ranks);
  return fmt::format("{}{:016x}", program, number);
}

}  // namespace gangway::bench
