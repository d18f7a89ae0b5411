// SPDX-License-Identifier: MIT
// What a convolution's kernel sees of pictures, as the rows of a matrix, and the opposite: pictures
// as the sum of what lies in such rows. With a matrix product they make a convolution where
// LibTorch has no fast one (gan/kernels/picture_maps.hpp). CPU alone, no graph. Compute thread.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Of a square kernel over pictures: pixels.
struct KernelPlaces {
  std::int64_t kernel = 4;
  std::int64_t stride = 2;
  std::int64_t padding = 1;
};

/// How often the kernel lies over `pixels` in a row.
[[nodiscard]] inline std::int64_t num_places(const KernelPlaces& places, std::int64_t pixels) {
  return (pixels + 2 * places.padding - places.kernel) / places.stride + 1;
}

/// @param pictures  [N, C, H, W], channels last, any type
/// @return [N * rows * columns, kernel * kernel * C]: by picture and place; zeros outside
[[nodiscard]] at::Tensor patches_of(const at::Tensor& pictures, const KernelPlaces& places);

/// @param patches  [N * rows * columns, kernel * kernel * C], float32
/// @param shape    of the pictures, [N, C, H, W]
/// @return the pictures, channels last: each pixel the sum of what the patches have for it
[[nodiscard]] at::Tensor sum_of_patches(const at::Tensor& patches, at::IntArrayRef shape,
                                        const KernelPlaces& places);

}  // namespace gangway::gan
