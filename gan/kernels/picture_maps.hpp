// SPDX-License-Identifier: MIT
// Convolutions and transposed convolutions on CPUs; each pass uses the fastest known method for its
// shape. The choice depends on shapes and types only, so on the job only. Compute thread.
#pragma once

#include <optional>

#include "gan/kernels/patches.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// kDown: convolution; kUp: transposed convolution.
enum class MapDirection { kDown, kUp };

/// Applies a convolution (kDown) or a transposed one (kUp). Second derivatives are
/// LibTorch's, and slower.
/// @param x       [N, C, H, W], channels last, float32 or bf16
/// @param weight  [out, in, kernel, kernel]; transposed: [in, out, …]; of the type of `x`
/// @param bias    [out] or nothing
[[nodiscard]] at::Tensor map_pictures(MapDirection direction, const at::Tensor& x,
                                      const at::Tensor& weight,
                                      const std::optional<at::Tensor>& bias,
                                      const KernelPlaces& places);

/// Returns whether map_pictures() supports `x` and `weight`.
[[nodiscard]] bool can_map_pictures(const at::Tensor& x, const at::Tensor& weight);

/// Applies a transposed convolution to pictures of one pixel (stride 1, no padding) as one matrix
/// product. Any type and device; derivatives of any order.
/// @param x [N, in, 1, 1]  @param weight [in, out, kernel, kernel]
/// @return [N, out, kernel, kernel], in the weight's memory format
[[nodiscard]] at::Tensor map_points(const at::Tensor& x, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias);

}  // namespace gangway::gan
