// SPDX-License-Identifier: MIT
// The products of convolutions and transposed convolutions on CPUs; each takes the fastest known
// method for its shape. The choice depends on shapes and types only, so on the job only. No graph:
// gan/kernels/convolution.hpp has the derivatives. Compute thread.
#pragma once

#include <optional>

#include <ATen/ATen.h>

#include "gan/kernels/patches.hpp"

namespace gangway::gan {

/// Convolves large pictures to small ones.
/// @param large   [N, narrow, H, W], channels last, float32 or bf16
/// @param weight  [wide, narrow, kernel, kernel], channels last, of that type; so all below
/// @param bias    [wide] or nothing
[[nodiscard]] at::Tensor gathered_pictures(const at::Tensor& large, const at::Tensor& weight,
                                           const std::optional<at::Tensor>& bias,
                                           const KernelPlaces& places);

/// Convolves small pictures to large ones (transposed convolution).
/// @param small  [N, wide, rows, columns of places], channels last
/// @param shape  of the result, [N, narrow, H, W]
[[nodiscard]] at::Tensor spread_pictures(const at::Tensor& small, const at::Tensor& weight,
                                         at::IntArrayRef shape, const KernelPlaces& places);

/// Returns the gradient of the weight of either map, in its shape.
[[nodiscard]] at::Tensor weight_gradient_of(const at::Tensor& large, const at::Tensor& small,
                                            const at::Tensor& weight, const KernelPlaces& places);

/// Applies a transposed convolution to pictures of one pixel (stride 1, no padding) as one matrix
/// product. Any type and device; derivatives of any order.
/// @param x [N, in, 1, 1]  @param weight [in, out, kernel, kernel]
/// @return [N, out, kernel, kernel], in the weight's memory format
[[nodiscard]] at::Tensor map_points(const at::Tensor& x, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias);

}  // namespace gangway::gan
