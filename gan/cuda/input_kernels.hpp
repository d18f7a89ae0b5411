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
  const std::int64_t* places = nullptr;  ///< its images' among kept ones, which `values` are then
  bool is_8_bit = false;                 ///< what `values` are: bytes, or float32
  InputShape shape;
  InputOrder order = InputOrder::kAsRead;
  float* out = nullptr;
};

/// CUDA loads a kernel when it is first asked about it, and may wait for all that is on the device
/// then: from now on no launch below does. @throws EnvironmentError when the driver fails
void load_input_kernels();

/// Asynchronous: ordered by `stream`. Any thread whose current device owns the memory.
/// @throws EnvironmentError when the launch fails.
void launch_input(const InputConversion& conversion, cudaStream_t stream);

/// A batch of 8-bit images that is kept: each image and label at its place.
struct KeptBatch {
  const std::uint8_t* values = nullptr;
  const std::int64_t* labels = nullptr;
  const std::int64_t* places = nullptr;  ///< of each of its images
  InputShape shape;
  std::uint8_t* kept_values = nullptr;
  std::int64_t* kept_labels = nullptr;
};
void launch_keep(const KeptBatch& batch, cudaStream_t stream);
/// out[i] = kept[places[i]]
void launch_kept_labels(const std::int64_t* kept, const std::int64_t* places, std::int64_t count,
                        std::int64_t* out, cudaStream_t stream);

}  // namespace gangway::cuda
