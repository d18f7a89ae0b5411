// SPDX-License-Identifier: MIT
// The rows of the all-reduce benchmark: our reduction over shared memory, over messages and over
// both, and MPI_Allreduce. Each sums one block of floats over all workers. One thread a worker
// calls them, and polls without sleep: the figure is that of the transport, not of a wake-up.
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
  /// Where this worker's summand is to be written before each run; what was there may be lost.
  [[nodiscard]] virtual std::span<float> input() = 0;
  /// What is timed. All workers call it in the same order. @throws CommError
  virtual void run() = 0;
  /// After a run: the sum times `scale()`.
  [[nodiscard]] virtual std::span<const float> result() const = 0;
  [[nodiscard]] virtual float scale() const = 0;
};

struct ReductionSetup {
  std::string name;
  std::size_t elements = 0;
  std::vector<int> hosts;  ///< by worker: equal where memory is shared
  std::string token;       ///< of the shared memory: new for every contestant, equal on all workers
  std::size_t num_buckets = 8;
  std::chrono::microseconds sleep{
      0};  ///< between polls that find nothing; 0: gives the core up only
};

/// One micro-batch a worker: what the reduction sums up.
[[nodiscard]] std::vector<MicrobatchRange> one_microbatch_each(int num_workers);

/// comm::Reducer with an updater that copies the mean into the weights. Gradients are written where
/// the others read them, as LibTorch's backward does in training; within a host the result is one
/// block for all of its workers.
[[nodiscard]] std::unique_ptr<Contestant> make_reduction(comm::Transport& transport,
                                                         const ReductionSetup& setup);

/// MPI_Allreduce, in place, on a communicator of the workers alone.
[[nodiscard]] std::unique_ptr<Contestant> make_mpi_allreduce(MPI_Comm workers,
                                                             std::size_t elements);

/// Copies this worker's slice of the summands of all workers of its host: the bytes and pages that
/// an all-reduce in shared memory reads, without waiting for anybody. Has no result.
[[nodiscard]] std::unique_ptr<Contestant> make_slice_copy(comm::Transport& transport,
                                                          const ReductionSetup& setup);

}  // namespace gangway::bench
