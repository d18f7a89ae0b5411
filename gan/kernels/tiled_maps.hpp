// SPDX-License-Identifier: MIT
// Convolutions and transposed convolutions in float32 on CPUs with AVX2 or AVX-512, as products of
// tiles (gan/kernels/tile_product.hpp) that read their factors from the pictures. CPU only, no
// graph. Compute thread.
#pragma once

#include <optional>

#include <ATen/ATen.h>

#include "gan/kernels/patches.hpp"

namespace gangway::gan {

// Every element is a sum in one order: equal bits on all such processors and for any number of
// threads.

/// Returns the convolution of `large`.
/// @param large   [N, narrow, H, W], channels last, float32
/// @param weight  [wide, narrow, kernel, kernel], channels last
/// @param bias    [wide] or nothing
/// @return [N, wide, rows, columns of places], channels last
/// @pre can_tile_map(wide)
[[nodiscard]] at::Tensor tiled_convolution(const at::Tensor& large, const at::Tensor& weight,
                                           const std::optional<at::Tensor>& bias,
                                           const KernelPlaces& places);

/// Returns the transposed convolution of `small`, which is also the gradient of a convolution's
/// input.
/// @param small   [N, wide, rows, columns of places], channels last, float32
/// @param weight  [wide, narrow, kernel, kernel], channels last
/// @param shape   of the result, [N, narrow, H, W]
/// @return channels last
/// @pre can_tile_map(narrow), kernel >= stride
[[nodiscard]] at::Tensor tiled_transposed_convolution(const at::Tensor& small,
                                                      const at::Tensor& weight,
                                                      at::IntArrayRef shape,
                                                      const KernelPlaces& places);

/// Returns whether the functions can make so many channels on this processor.
[[nodiscard]] bool can_tile_map(std::int64_t channels);

}  // namespace gangway::gan
