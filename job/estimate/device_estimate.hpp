// SPDX-License-Identifier: MIT
// What a GPU has of a worker's networks, as worker/cuda and comm/nccl lay it out. Pure.
#pragma once

#include <cstdint>

#include "job/estimate/memory_estimate.hpp"
#include "job/layout/layout.hpp"
#include "job/spec.hpp"

namespace gangway {

/// On an H100 with LibTorch's libraries: by what is said of them, not measured.
inline constexpr std::int64_t kDeviceContextBytes = 600LL << 20U;
/// cuBLAS's, for each stream and each of the two threads that compute: CUBLAS_WORKSPACE_CONFIG is
/// :4096:8 (launch/run/train.cpp).
inline constexpr std::int64_t kProductWorkspaceBytes = 2 * (32LL << 20U);
/// Of the host, a worker whose libraries compute on a GPU: 5.5 GiB were measured of two (LibTorch
/// 2.11 for CUDA 13.0).
inline constexpr std::int64_t kDeviceProcessBytes = 2816LL << 20U;

/// Buckets that a network has on a GPU at the most, and bytes of each on average at least, unless
/// layout.buckets says how many (comm/arena/bucket_plan.hpp).
inline constexpr std::int64_t kMostBuckets = 8;
inline constexpr std::int64_t kLeastBucketBytes = 4LL << 20U;

/// Micro-batches of a recorded step that `numerics.cuda_graph: branches` computes at once at most.
inline constexpr int kMostBranches = 4;

/// What a worker has of a network on its GPU, in numbers of the network.
struct DevicePart {
  std::int64_t parameters = 0;  ///< of the whole network
  std::int64_t held = 0;        ///< of them by this worker; not 0
  MicrobatchRange range;
  int members = 1;     ///< workers that hold the same
  int other_sums = 0;  ///< that those others bring
};

/// Adds weights, gradients, moments and average of `network` on a GPU, and the pages of the host
/// that it copies from and to.
void add_device_part(const Job& job, const Layout& layout, NetworkId network,
                     const DevicePart& part, MemoryEstimate& memory);

/// Why steps of this job are not recorded as CUDA graphs (worker/step/step_graphs.hpp): numbers of
/// one step that the host decides on. Empty: nothing speaks against it.
[[nodiscard]] std::string why_not_recorded(const Job& job, const Layout& layout);
/// Whether they are, on a GPU and as the job wants it. Graphs have memory of their own.
[[nodiscard]] bool records_steps(const Job& job, const Layout& layout);
/// Of its micro-batches `range`, those that a worker's recorded step computes at once; 0: steps are
/// not recorded.
[[nodiscard]] int recorded_at_once(const Job& job, const Layout& layout, MicrobatchRange range);

}  // namespace gangway
