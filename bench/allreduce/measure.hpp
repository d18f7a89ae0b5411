// SPDX-License-Identifier: MIT
// How the rows of the all-reduce benchmark take turns, are timed, and are checked. Called by every
// worker's main, in step.
#pragma once

#include <memory>
#include <vector>

#include "bench/allreduce/contestants.hpp"
#include "bench/allreduce/figures.hpp"

namespace gangway::bench {

struct Measurement {
  MPI_Comm workers = MPI_COMM_NULL;  ///< all that compute, in order
  int num_rounds = 7;
  double seconds = 2.0;   ///< of each row, over all rounds, the filling of its input included
  int corrupt_round = 0;  ///< from 1: in this round the last worker spoils a value, as a test of
                          ///< the check
};

/// In every round each row has its turn, another one first each time. A turn is a number of runs,
/// each timed alone: the input is written, all workers meet, and the time is that of the slowest.
/// After the last run of a turn every value of the result is compared with the known sum, bit by
/// bit.
/// @return by contestant, equal on all workers. @throws InvariantError naming row, round and value
/// where a result is wrong.
[[nodiscard]] std::vector<Samples> measure(const std::vector<std::unique_ptr<Contestant>>& rows,
                                           const Measurement& how);

}  // namespace gangway::bench
