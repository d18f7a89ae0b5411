// SPDX-License-Identifier: MIT
// Fused operators on feature maps on a CUDA device (gan/map_arithmetic.hpp). No LibTorch.
#pragma once

#include <cuda_runtime_api.h>

#include "gan/map_arithmetic.hpp"

namespace gangway::cuda {

/// Arrays are device memory with activation.elements values of `type`. Asynchronous, ordered by
/// `stream`, capturable. Any thread whose current device owns the memory.
/// @param bias  float32 [channels]; null: none
/// @throws EnvironmentError if the launch fails; the others too
void launch_activation(const Activation& activation, MapType type, const void* x, const float* bias,
                       void* out, cudaStream_t stream);
void launch_activation_gradient(const Activation& activation, MapType type, const void* gradient,
                                const void* y, void* out, cudaStream_t stream);
void launch_resampled(const Resampled& to, MapType type, const void* x, void* out,
                      cudaStream_t stream);

}  // namespace gangway::cuda
