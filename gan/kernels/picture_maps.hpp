// SPDX-License-Identifier: MIT
// Convolutions and transposed ones on CPUs, each part by the fastest way known for its shape. Which
// way follows from shapes and types alone, so from the job. Compute thread.
#pragma once

#include <optional>

#include "gan/kernels/patches.hpp"
#include "gan/torch.hpp"

namespace gangway::gan {

/// Of which way the kernel looks.
enum class MapDirection { kDown, kUp };

/// A convolution (kDown) or a transposed one (kUp); its gradients have no derivatives of their own.
/// @param x       [N, C, H, W], channels last, float32 or bf16
/// @param weight  [out, in, kernel, kernel], of a transposed one [in, out, …]; of the same type
/// @param bias    [out] or nothing
/// @throws InvariantError from backward, where a second derivative is asked for
[[nodiscard]] at::Tensor map_pictures(MapDirection direction, const at::Tensor& x,
                                      const at::Tensor& weight,
                                      const std::optional<at::Tensor>& bias,
                                      const KernelPlaces& places);

/// Whether `x` and `weight` are what map_pictures() is for.
[[nodiscard]] bool can_map_pictures(const at::Tensor& x, const at::Tensor& weight);

/// A transposed convolution of pictures of one pixel, which the kernel alone makes into larger ones
/// (stride 1, no padding): one product of matrices. Any type and device; has all derivatives.
/// @param x [N, in, 1, 1]  @param weight [in, out, kernel, kernel]
/// @return [N, out, kernel, kernel], in the weight's memory format
[[nodiscard]] at::Tensor map_points(const at::Tensor& x, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias);

}  // namespace gangway::gan
