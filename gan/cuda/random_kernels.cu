// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "gan/cuda/random_kernels.hpp"

namespace gangway::cuda {
namespace {

constexpr int kThreads = 256;              // a block
constexpr std::int64_t kMaxBlocks = 4096;  // the kernels stride over what is beyond

/// One thread draws the four elements of a Philox block, as the CPU does.
__global__ void normal_kernel(KeyedRandom random, float* out, std::int64_t count) {
  const std::int64_t groups = (count + 3) / 4;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       group < groups; group += stride) {
    float four[4];
    random.normal4(static_cast<std::uint64_t>(group), four);
    for (int lane = 0; lane < 4 && group * 4 + lane < count; ++lane) {
      out[group * 4 + lane] = four[lane];
    }
  }
}

__global__ void uniform_kernel(KeyedRandom random, float* out, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    out[i] = random.uniform(static_cast<std::uint64_t>(i));
  }
}

unsigned int blocks_for(std::int64_t threads) {
  return static_cast<unsigned int>(
      std::clamp((threads + kThreads - 1) / kThreads, std::int64_t{1}, kMaxBlocks));
}

void check_launch(const char* what) {
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) {
    throw EnvironmentError(std::string(what) + ": " + cudaGetErrorString(result) +
                           "; check the device and its driver with nvidia-smi");
  }
}

}  // namespace

void fill_normal(const RandomKey& key, float* out, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  normal_kernel<<<blocks_for((count + 3) / 4), kThreads, 0, stream>>>(KeyedRandom(key), out, count);
  check_launch("drawing normals on the GPU");
}

void fill_uniform(const RandomKey& key, float* out, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  uniform_kernel<<<blocks_for(count), kThreads, 0, stream>>>(KeyedRandom(key), out, count);
  check_launch("drawing uniforms on the GPU");
}

}  // namespace gangway::cuda
