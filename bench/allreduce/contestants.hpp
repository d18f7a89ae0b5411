// SPDX-License-Identifier: MIT
// The rows of the all-reduce benchmark: Gangway's reduction over shared memory, messages or both,
// and MPI_Allreduce. Each sums a block of floats over all workers. One thread of each worker calls
// them and polls without sleep, so that no wake-up counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "comm/arena/reduction_tree.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::bench {

class Contestant {
 public:
  virtual ~Contestant() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns the buffer to fill with this worker's summand before each run; may have changed.
  [[nodiscard]] virtual std::span<float> input() = 0;
  /// Runs the timed part. All workers call it in the same order. @throws CommError
  virtual void run() = 0;
  /// Returns the sum times `scale()` after a run.
  [[nodiscard]] virtual std::span<const float> result() const = 0;
  [[nodiscard]] virtual float scale() const = 0;
};

struct ReductionSetup {
  std::string name;
  std::size_t elements = 0;
  std::vector<int> hosts;  ///< by worker: equal if they share memory
  std::string token;       ///< name of the shared memory: unique to a contestant, equal on workers
  std::size_t num_buckets = 8;
  std::chrono::microseconds sleep{0};  ///< between polls that find nothing; 0: only yields the core
};

/// Returns micro-batch ranges with one summand, called micro-batch, for each worker.
[[nodiscard]] std::vector<MicrobatchRange> one_microbatch_each(int num_workers);

/// Makes a row of comm::Reducer with an updater that copies the mean into the weights. The input is
/// in the memory that the other workers read, as for LibTorch's backward in training. All workers
/// of a host share one result.
[[nodiscard]] std::unique_ptr<Contestant> make_reduction(comm::Transport& transport,
                                                         const ReductionSetup& setup);

/// Makes a row of MPI_Allreduce, in place, on a communicator of the workers only.
[[nodiscard]] std::unique_ptr<Contestant> make_mpi_allreduce(MPI_Comm workers,
                                                             std::size_t elements);

/// Makes a row that copies this worker's slice of all summands of its host: the bytes and pages
/// that an all-reduce in shared memory reads, without waiting. Has no result.
[[nodiscard]] std::unique_ptr<Contestant> make_slice_copy(comm::Transport& transport,
                                                          const ReductionSetup& setup);

}  // namespace gangway::bench
