// SPDX-License-Identifier: MIT
// Shared by all launches of gan/cuda. Included by .cu files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <cuda_runtime_api.h>

#include "base/errors.hpp"

namespace gangway::cuda {

inline constexpr int kThreads = 256;              // a block
inline constexpr std::int64_t kMaxBlocks = 4096;  // kernels loop over further elements

#ifdef __CUDACC__
__device__ inline std::int64_t first_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t index_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}
#endif

inline unsigned int blocks_for(std::int64_t threads) {
  return static_cast<unsigned int>(
      std::clamp((threads + kThreads - 1) / kThreads, std::int64_t{1}, kMaxBlocks));
}

/// @throws EnvironmentError naming `what` if the last launch failed
inline void check_launch(const char* what) {
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) {
    throw EnvironmentError(std::string(what) + ": " + cudaGetErrorString(result) +
                           "; check the device and its driver with nvidia-smi");
  }
}

}  // namespace gangway::cuda
