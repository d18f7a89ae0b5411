// SPDX-License-Identifier: MIT
// Memory that one worker needs, by purpose.
#pragma once

#include <cstdint>

namespace gangway {

/// Bytes that one worker needs. An estimate: the overhead of allocator and libraries is a constant,
/// measured once.
struct MemoryEstimate {
  std::int64_t weights_bytes = 0;    ///< both networks and, if kept, the weight average
  std::int64_t gradients_bytes = 0;  ///< arenas, stack of partial sums; on a GPU, others' too
  std::int64_t optimizer_bytes = 0;  ///< this worker's slices of the moments
  std::int64_t activations_bytes =
      0;                         ///< of one micro-batch through both networks, or of all that wait
  std::int64_t pools_bytes = 0;  ///< generated images (training.pool), of all micro-batches
  std::int64_t recorded_bytes = 0;  ///< of recorded steps (CUDA graphs), beside plain ones
  std::int64_t process_bytes = 0;   ///< loaded libraries; on a GPU also its context
  /// Host memory of a worker on a GPU: libraries and page-locked memory. The rest is the GPU's.
  std::int64_t host_bytes = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + pools_bytes +
           recorded_bytes + process_bytes;
  }
};

}  // namespace gangway
