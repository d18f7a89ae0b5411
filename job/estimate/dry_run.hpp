// SPDX-License-Identifier: MIT
// What a job would do, without doing it: placement, steps, sizes and memory, for `gangway run
// --dry-run`. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "job/spec.hpp"

namespace gangway {

/// Bytes that one worker needs. An estimate: allocator and library overheads are a constant
/// measured once.
struct MemoryEstimate {
  std::int64_t weights_bytes = 0;    ///< both networks and, if kept, the weight average
  std::int64_t gradients_bytes = 0;  ///< arenas, and the stack of partial sums
  std::int64_t optimizer_bytes = 0;  ///< this worker's slices of the moments
  std::int64_t activations_bytes =
      0;                         ///< of one micro-batch through both networks, or of all that wait
  std::int64_t pools_bytes = 0;  ///< images that were made (training.pool), of all micro-batches
  std::int64_t process_bytes = 0;  ///< the libraries, once loaded
  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + pools_bytes +
           process_bytes;
  }
};

/// Of the worker that needs most. @pre `spec` comes from load_job.
[[nodiscard]] MemoryEstimate estimate_memory(const JobSpec& spec, int workers);

/// Whether the job has no layout.recompute, and that worker would need clearly less with it.
/// @pre as above
[[nodiscard]] bool recompute_saves(const JobSpec& spec, int workers);

/// @throws ConfigError, one line with the remedy, unless 1 <= workers <= training.microbatches, and
/// workers equals layout.data where the job fixes that.
void require_workers(const JobSpec& spec, int workers);

/// The text that `--dry-run` prints: resolved job, placement table, steps, parameters, memory a
/// worker.
/// @throws ConfigError as require_workers.
[[nodiscard]] std::string describe_dry_run(const JobSpec& spec, int workers);

}  // namespace gangway
