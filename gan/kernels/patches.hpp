// SPDX-License-Identifier: MIT
// Copies the pixels under a convolution's kernel into matrix rows, and sums such rows back into
// pictures. With a matrix product they form a convolution where LibTorch has no fast one
// (gan/kernels/picture_maps.hpp). CPU only, no graph. Compute thread.
#pragma once

#include <cstdint>

#include <ATen/ATen.h>

namespace gangway::gan {

/// Size, stride and padding of a square kernel, in pixels.
struct KernelPlaces {
  std::int64_t kernel = 4;
  std::int64_t stride = 2;
  std::int64_t padding = 1;
};

/// Returns the number of kernel places along a side of `pixels`.
[[nodiscard]] inline std::int64_t num_places(const KernelPlaces& places, std::int64_t pixels) {
  return (pixels + 2 * places.padding - places.kernel) / places.stride + 1;
}

/// @param pictures  [N, C, H, W], channels last, any type
/// @return [N * rows * columns, kernel * kernel * C]: one row a picture and place; zeros outside
[[nodiscard]] at::Tensor patches_of(const at::Tensor& pictures, const KernelPlaces& places);

/// @param patches  [N * rows * columns, kernel * kernel * C], float32
/// @param shape    of the pictures, [N, C, H, W]
/// @return pictures, channels last; each pixel sums its values over all patches
[[nodiscard]] at::Tensor sum_of_patches(const at::Tensor& patches, at::IntArrayRef shape,
                                        const KernelPlaces& places);

}  // namespace gangway::gan
