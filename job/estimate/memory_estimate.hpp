// SPDX-License-Identifier: MIT
// What one worker needs of memory, by what it is for.
#pragma once

#include <cstdint>

namespace gangway {

/// Bytes that one worker needs. An estimate: allocator and library overheads are a constant
/// measured once.
struct MemoryEstimate {
  std::int64_t weights_bytes = 0;    ///< both networks and, if kept, the weight average
  std::int64_t gradients_bytes = 0;  ///< arenas, the stack of partial sums; of a GPU, others' too
  std::int64_t optimizer_bytes = 0;  ///< this worker's slices of the moments
  std::int64_t activations_bytes =
      0;                         ///< of one micro-batch through both networks, or of all that wait
  std::int64_t pools_bytes = 0;  ///< images that were made (training.pool), of all micro-batches
  std::int64_t recorded_bytes = 0;  ///< of recorded steps (CUDA graphs), beside those of plain ones
  std::int64_t process_bytes = 0;   ///< the libraries, once loaded; of a GPU its context
  /// Where a GPU has all of the above: of the host, libraries and page-locked memory.
  std::int64_t host_bytes = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + pools_bytes +
           recorded_bytes + process_bytes;
  }
};

}  // namespace gangway
