// SPDX-License-Identifier: MIT
// Augmentation (gan/augment/drawn_augmentation.hpp) drawn on a CUDA device. No LibTorch.
#pragma once

#include <cuda_runtime_api.h>

#include "gan/augment/drawn_augmentation.hpp"
#include "gan/cuda/random_kernels.hpp"

namespace gangway::cuda {

/// The draws for the pictures of a micro-batch.
struct AugmentDrawing {
  gan::AugmentChances chances;
  const double* strength = nullptr;  ///< p; device memory
  gan::PictureShape shape;
  std::int64_t count = 0;  ///< number of pictures
};

/// Writes each picture's augmentation to `out`, device memory. Asynchronous: ordered by `stream`,
/// capturable. Any thread whose current device owns `out`.
/// @throws EnvironmentError if the launch fails
void launch_augment_drawing(const AugmentDrawing& drawing, const DeviceKey& key,
                            gan::DrawnAugmentation* out, cudaStream_t stream);

/// A sum of values [count, channels, values] into pixels [count, channels, pixels]. Device memory.
struct ExactSums {
  const float* values = nullptr;
  const std::int64_t* index = nullptr;  ///< [count, values]: the pixel, in all channels
  const double* scale = nullptr;        ///< a power of two
  std::int64_t count = 0;
  std::int64_t channels = 0;
  std::int64_t num_values = 0;
  std::int64_t num_pixels = 0;
};

/// Adds each value times the scale, rounded, to its pixel of `sums`. Sums are integers, so exact in
/// any order. Asynchronous and capturable, as above.
void launch_exact_sums(const ExactSums& what, std::int64_t* sums, cudaStream_t stream);

}  // namespace gangway::cuda
