// SPDX-License-Identifier: MIT
// Times and checks the rows of the all-reduce benchmark, alternately. Called by every worker's
// main, in step.
#pragma once

#include <memory>
#include <vector>

#include "bench/allreduce/contestants.hpp"
#include "bench/allreduce/figures.hpp"

namespace gangway::bench {

struct Measurement {
  MPI_Comm workers = MPI_COMM_NULL;  ///< all compute workers, in order
  int num_rounds = 7;
  double seconds = 2.0;   ///< for each row, over all rounds; includes the time to fill its input
  int corrupt_round = 0;  ///< from 1: in this round the last worker corrupts a value, to test
                          ///< the check
};

/// Gives each row a turn in every round, and starts each round with another row. A turn is a number
/// of runs: each fills the input, waits for all workers, and takes the time of the slowest. After
/// the last run of a turn, compares every value of the result with the known sum, bit by bit.
/// @return by contestant, equal on all workers. @throws InvariantError naming row, round and value
/// if a result is wrong
[[nodiscard]] std::vector<Samples> measure(const std::vector<std::unique_ptr<Contestant>>& rows,
                                           const Measurement& how);

}  // namespace gangway::bench
