// SPDX-License-Identifier: MIT
// Converts a batch on a CUDA device into a network's input. No LibTorch.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "gan/cuda/input_arithmetic.hpp"

namespace gangway::cuda {

/// A batch in device memory and its destination of shape.elements() float32 values.
struct InputConversion {
  const void* values = nullptr;
  const std::int64_t* places = nullptr;  ///< indices into kept images, if `values` holds those
  bool is_8_bit = false;                 ///< type of `values`: bytes, else float32
  InputShape shape;
  InputOrder order = InputOrder::kAsRead;
  float* out = nullptr;
};

/// Loads the kernels below, so that no launch does. CUDA loads a kernel at first use and may then
/// wait for all work on the device. @throws EnvironmentError if the driver fails
void load_input_kernels();

/// Runs asynchronously, ordered by `stream`. Any thread whose current device owns the memory.
/// @throws EnvironmentError if the launch fails
void launch_input(const InputConversion& conversion, cudaStream_t stream);

/// A batch of 8-bit images to keep: each image and label at its place.
struct KeptBatch {
  const std::uint8_t* values = nullptr;
  const std::int64_t* labels = nullptr;
  const std::int64_t* places = nullptr;  ///< of each of its images
  InputShape shape;
  std::uint8_t* kept_values = nullptr;
  std::int64_t* kept_labels = nullptr;
};
void launch_keep(const KeptBatch& batch, cudaStream_t stream);
/// Computes out[i] = kept[places[i]].
void launch_kept_labels(const std::int64_t* kept, const std::int64_t* places, std::int64_t count,
                        std::int64_t* out, cudaStream_t stream);

}  // namespace gangway::cuda
