// SPDX-License-Identifier: MIT
// The keyed random numbers of gan/random.hpp drawn on a CUDA device, with the bits that the CPU
// draws. No LibTorch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gan/cuda/step_place.hpp"
#include "gan/random.hpp"

namespace gangway::cuda {

/// A key, and where the device finds its seed and its step when it draws; null: in the key.
struct DeviceKey {
  RandomKey key;
  const StepPlace* place = nullptr;  ///< device memory
};

/// Writes `count` standard normals / uniforms in [0, 1) / integers in [0, bound), element i being
/// draw i, to device memory. Asynchronous: ordered by `stream`, capturable. Any thread whose
/// current device owns `out`.
/// @throws EnvironmentError when the launch fails.
void fill_normal(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream);
void fill_uniform(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream);
void fill_below(const DeviceKey& key, std::uint32_t bound, std::int64_t* out, std::int64_t count,
                cudaStream_t stream);

/// Writes `place` to device memory; it travels as a kernel's argument, so the host's copy may
/// change at once. @throws EnvironmentError when the launch fails.
void store_step_place(const StepPlace& place, StepPlace* out, cudaStream_t stream);

}  // namespace gangway::cuda
