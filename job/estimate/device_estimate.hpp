// SPDX-License-Identifier: MIT
// Memory that one worker needs, by purpose; that of its networks on a GPU, as worker/cuda and
// comm/nccl lay it out. Pure.
#pragma once

#include <cstdint>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Bytes that one worker needs. An estimate: the overhead of allocator and libraries is a constant,
/// measured once.
struct MemoryEstimate {
  std::int64_t weights_bytes = 0;    ///< both networks and, if kept, the weight average
  std::int64_t gradients_bytes = 0;  ///< arenas, partial sums; on a GPU also received ones
  std::int64_t optimizer_bytes = 0;  ///< this worker's slices of the moments
  /// Of one micro-batch through both networks, or of all that wait.
  std::int64_t activations_bytes = 0;
  std::int64_t pools_bytes = 0;     ///< generated images (training.pool), of all micro-batches
  std::int64_t recorded_bytes = 0;  ///< of recorded steps (CUDA graphs), beside plain ones
  std::int64_t process_bytes = 0;   ///< loaded libraries; on a GPU also its context
  /// Host memory of a worker on a GPU: libraries and page-locked memory. The rest is the GPU's.
  std::int64_t host_bytes = 0;
  [[nodiscard]] std::int64_t total_bytes() const {
    return weights_bytes + gradients_bytes + optimizer_bytes + activations_bytes + pools_bytes +
           recorded_bytes + process_bytes;
  }
};

/// CUDA context of an H100 with LibTorch's libraries; from published numbers, not measured.
inline constexpr std::int64_t kDeviceContextBytes = 600LL << 20U;
/// cuBLAS workspaces of a stream, for both threads that compute: CUBLAS_WORKSPACE_CONFIG is :4096:8
/// (launch/run/train.cpp).
inline constexpr std::int64_t kProductWorkspaceBytes = 2 * (32LL << 20U);
/// Host memory per worker whose libraries compute on a GPU. Measured: 5.5 GiB for two workers
/// (LibTorch 2.11 for CUDA 13.0).
inline constexpr std::int64_t kDeviceProcessBytes = 2816LL << 20U;

/// Most buckets of a network on a GPU, and least mean bytes of a bucket, unless layout.buckets
/// gives a number (comm/arena/bucket_plan.hpp).
inline constexpr std::int64_t kMostBuckets = 8;
inline constexpr std::int64_t kLeastBucketBytes = 4LL << 20U;

/// Most micro-batches that a recorded step computes at once with `numerics.cuda_graph: branches`.
inline constexpr int kMostBranches = 4;

/// Limit of a kernel's arguments (comm/cuda/sum_program.hpp).
inline constexpr int kMostDeviceSums = 128;

/// Returns the partial sums of a worker that holds `range` of the micro-batches: the fewest whole
/// subtrees. A GPU kernel adds up those of all workers for a slice of the gradients.
[[nodiscard]] int device_sums(MicrobatchRange range, int microbatches);
/// Returns the gradient arenas that the worker needs at once, the open leaf's included
/// (comm/reduce/partial_stack.hpp).
[[nodiscard]] int gradient_buffers(MicrobatchRange range, int microbatches);

/// @throws ConfigError, one line with the remedy, if the sums are too many for the job's device
void require_few_device_sums(const JobSpec& spec, const Layout& layout);

/// Part of a network that a worker has on its GPU, counted in the network's numbers.
struct DevicePart {
  std::int64_t parameters = 0;  ///< of the whole network
  std::int64_t held = 0;        ///< parameters that this worker holds
  MicrobatchRange range;
  int members = 1;     ///< workers that hold the same parameters
  int other_sums = 0;  ///< partial sums that the other members bring
};

/// Adds weights, gradients, moments and average of `network` on a GPU to `memory`, and the host
/// pages for its copies.
void add_device_part(const Job& job, const Layout& layout, NetworkId network,
                     const DevicePart& part, MemoryEstimate& memory);

/// Says why steps of this job are not recorded as CUDA graphs: the host decides on numbers of a
/// step (worker/step/step_graphs.hpp). Empty if nothing prevents recording.
[[nodiscard]] std::string why_not_recorded(const Job& job, const Layout& layout);
/// Returns whether steps are recorded: on a GPU, as the job asks. Graphs have their own memory.
[[nodiscard]] bool records_steps(const Job& job, const Layout& layout);
/// Returns how many micro-batches of `range` a worker's recorded step computes at once; 0: steps
/// are not recorded.
[[nodiscard]] int recorded_at_once(const Job& job, const Layout& layout, MicrobatchRange range);

}  // namespace gangway
