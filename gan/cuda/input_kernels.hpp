// SPDX-License-Identifier: MIT
// What a batch that was copied to a CUDA device as it was read becomes in a network. No LibTorch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gan/cuda/input_arithmetic.hpp"

namespace gangway::cuda {

/// A batch in device memory and where its values are to go; float32, shape.elements() of them.
struct InputConversion {
  const void* values = nullptr;
  bool is_8_bit = false;  ///< what `values` are: bytes, or float32
  InputShape shape;
  InputOrder order = InputOrder::kAsRead;
  float* out = nullptr;
};

/// Asynchronous: ordered by `stream`. Any thread whose current device owns the memory.
/// @throws EnvironmentError when the launch fails.
void launch_input(const InputConversion& conversion, cudaStream_t stream);

}  // namespace gangway::cuda
