// SPDX-License-Identifier: MIT
// Draws the keyed random numbers of gan/random.hpp on a CUDA device, with the bits of the CPU. No
// LibTorch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gan/cuda/step_place.hpp"
#include "gan/random.hpp"

namespace gangway::cuda {

/// A key. If `place` is not null, the device reads seed and step from there at the draw.
struct DeviceKey {
  RandomKey key;
  const StepPlace* place = nullptr;  ///< device memory
};

/// Write `count` standard normals / uniforms in [0, 1) / integers in [0, bound) to device memory;
/// element i is draw i. Asynchronous: ordered by `stream`, capturable. Any thread whose current
/// device owns `out`.
/// @throws EnvironmentError if the launch fails
void fill_normal(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream);
void fill_uniform(const DeviceKey& key, float* out, std::int64_t count, cudaStream_t stream);
void fill_below(const DeviceKey& key, std::uint32_t bound, std::int64_t* out, std::int64_t count,
                cudaStream_t stream);

/// Writes `place` to device memory as a kernel's argument, so the host's copy may change at once.
/// @throws EnvironmentError if the launch fails
void store_step_place(const StepPlace& place, StepPlace* out, cudaStream_t stream);

}  // namespace gangway::cuda
