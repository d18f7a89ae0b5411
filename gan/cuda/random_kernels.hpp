// SPDX-License-Identifier: MIT
// The keyed random numbers of gan/random.hpp drawn on a CUDA device, with the bits that the CPU
// draws. No LibTorch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gan/random.hpp"

namespace gangway::cuda {

/// Writes `count` standard normals / uniforms in [0, 1) of `key`, element i being draw i, to device
/// memory. Asynchronous: ordered by `stream`. Any thread whose current device owns `out`.
/// @throws EnvironmentError when the launch fails.
void fill_normal(const RandomKey& key, float* out, std::int64_t count, cudaStream_t stream);
void fill_uniform(const RandomKey& key, float* out, std::int64_t count, cudaStream_t stream);

}  // namespace gangway::cuda
