// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "base/errors.hpp"
#include "comm/cuda/figure_kernels.hpp"
#include "comm/cuda/slice_kernels.hpp"

namespace gangway::comm {
namespace {

constexpr int kDifferenceThreads = 256;
constexpr std::int64_t kMostDifferenceBlocks = 2048;  // the kernel strides over the rest
constexpr int kCountThreads = 512;

__global__ void difference_kernel(const float* from, float* values, std::int64_t elements) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < elements; i += stride) {
    values[i] = from[i] - values[i];
  }
}

/// Statistics of the values that one thread has read.
struct Seen {
  unsigned int total;
  float least;
  float most;
  double sum;
  double sum_of_squares;
};

__device__ Seen joined(const Seen& a, const Seen& b) {
  if (a.total == 0 || b.total == 0) {
    return a.total == 0 ? b : a;
  }
  return {a.total + b.total, fminf(a.least, b.least), fmaxf(a.most, b.most), a.sum + b.sum,
          a.sum_of_squares + b.sum_of_squares};
}

/// Integer counts may be added in any order; sums are added by halves, in a fixed order.
__global__ void count_kernel(const float* values, std::int64_t elements, ValueCounts* counts) {
  __shared__ unsigned int buckets[ValueCounts::kBuckets];
  __shared__ Seen seen[kCountThreads];
  for (int i = static_cast<int>(threadIdx.x); i < ValueCounts::kBuckets; i += kCountThreads) {
    buckets[i] = 0;
  }
  __syncthreads();
  Seen own{};
  for (std::int64_t i = threadIdx.x; i < elements; i += kCountThreads) {
    const float value = values[i];
    if (isnan(value)) {
      continue;
    }
    atomicAdd(&buckets[bucket_of(value)], 1U);
    own = joined(own, {1, value, value, value, static_cast<double>(value) * value});
  }
  seen[threadIdx.x] = own;
  for (unsigned int half = kCountThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      seen[threadIdx.x] = joined(seen[threadIdx.x], seen[threadIdx.x + half]);
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < ValueCounts::kBuckets; i += kCountThreads) {
    counts->counts[i] += buckets[i];
  }
  if (threadIdx.x == 0) {
    const Seen all = joined(
        {counts->total, counts->least, counts->most, counts->sum, counts->sum_of_squares}, seen[0]);
    counts->total = all.total;
    counts->least = all.least;
    counts->most = all.most;
    counts->sum = all.sum;
    counts->sum_of_squares = all.sum_of_squares;
  }
}

void check_figures(const char* what) {
  const cudaError_t result = cudaGetLastError();
  if (result != cudaSuccess) {
    throw EnvironmentError(std::string(what) + ": " + cudaGetErrorString(result) +
                           "; check the device and its driver with nvidia-smi");
  }
}

}  // namespace

void load_figure_kernels() {
  cudaFuncAttributes asked{};
  (void)cudaFuncGetAttributes(&asked, reinterpret_cast<const void*>(difference_kernel));
  (void)cudaFuncGetAttributes(&asked, reinterpret_cast<const void*>(count_kernel));
  check_figures("loading kernels onto the GPU");
  load_mean_kernels();
}

void launch_difference(const float* from, float* values, std::int64_t elements,
                       cudaStream_t stream) {
  if (elements == 0) {
    return;
  }
  const std::int64_t blocks =
      std::min(kMostDifferenceBlocks, (elements + kDifferenceThreads - 1) / kDifferenceThreads);
  difference_kernel<<<static_cast<unsigned int>(blocks), kDifferenceThreads, 0, stream>>>(
      from, values, elements);
  check_figures("measuring an update on the GPU");
}

void launch_count(const float* values, std::int64_t elements, ValueCounts* counts,
                  cudaStream_t stream) {
  if (elements == 0) {
    return;
  }
  count_kernel<<<1, kCountThreads, 0, stream>>>(values, elements, counts);
  check_figures("counting values on the GPU");
}

}  // namespace gangway::comm
