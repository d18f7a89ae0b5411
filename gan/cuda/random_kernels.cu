// SPDX-License-Identifier: MIT
#include "gan/cuda/launch.hpp"
#include "gan/cuda/random_kernels.hpp"

namespace gangway::cuda {
namespace {

/// One thread draws the four elements of a Philox block, as the CPU does.
__global__ void normal_kernel(DeviceKey key, float* out, std::int64_t count) {
  const KeyedRandom random(placed(key.key, key.place));
  const std::int64_t groups = (count + 3) / 4;
  for (std::int64_t group = first_index(); group < groups; group += index_stride()) {
    float four[4];
    random.normal4(static_cast<std::uint64_t>(group), four);
    for (int lane = 0; lane < 4 && group * 4 + lane < count; ++lane) {
      out[group * 4 + lane] = four[lane];
    }
  }
}

__global__ void uniform_kernel(DeviceKey key, float* out, std::int64_t count) {
  const KeyedRandom random(placed(key.key, key.place));
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    out[i] = random.uniform(static_cast<std::uint64_t>(i));
  }
}

__global__ void below_kernel(DeviceKey key, std::uint32_t bound, std::int64_t* out,
                             std::int64_t count) {
  const KeyedRandom random(placed(key.key, key.place));
  for (std::int64_t i = first_index(); i < count; i += index_stride()) {
    out[i] = random.below(static_cast<std::uint64_t>(i), bound);
  }
}

__global__ void store_step_place_kernel(StepPlace place, StepPlace* out) { *out = place; }

}  // namespace

void fill_normal(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  normal_kernel<<<blocks_for((count + 3) / 4), kThreads, 0, stream>>>(key, out, count);
  check_launch("drawing normals on the GPU");
}

void fill_uniform(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  uniform_kernel<<<blocks_for(count), kThreads, 0, stream>>>(key, out, count);
  check_launch("drawing uniforms on the GPU");
}

void fill_below(const DeviceKey& key, std::uint32_t bound, std::int64_t* out, std::int64_t count,
                cudaStream_t stream) {
  if (count == 0) {
    return;
  }
  below_kernel<<<blocks_for(count), kThreads, 0, stream>>>(key, bound, out, count);
  check_launch("drawing integers on the GPU");
}

void store_step_place(const StepPlace& place, StepPlace* out, cudaStream_t stream) {
  store_step_place_kernel<<<1, 1, 0, stream>>>(place, out);
  check_launch("storing a step's keys on the GPU");
}

}  // namespace gangway::cuda
