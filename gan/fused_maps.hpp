// SPDX-License-Identifier: MIT
// Operators of StyleGAN2, each one kernel on devices that have it; derivatives of any order.
// Compute thread.
#pragma once

#include <optional>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Returns whether the device of `x` has the kernels of this header.
[[nodiscard]] bool is_fused(const at::Tensor& x);

/// Computes leaky_relu(x + bias, slope) * gain in one kernel. @pre is_fused(x)
/// @param x  [N, C] or [N, C, H, W], float32 or bfloat16
/// @param bias  float32 [C], not rounded to the type of `x`; nothing: none
[[nodiscard]] at::Tensor fused_activation(const at::Tensor& x,
                                          const std::optional<at::Tensor>& bias, double slope,
                                          double gain);

/// Resampling of maps: insert zeros, smooth by [1, 3, 3, 1], keep every `down`-th pixel
/// (gan/map_arithmetic.hpp).
struct MapResampling {
  std::int64_t up = 1;
  std::int64_t down = 1;
  std::int64_t padding = 0;  ///< pixels of zeros before the first pixel
  std::int64_t height = 0;   ///< of the output
  std::int64_t width = 0;
  double gain = 1.0;
};
/// Resamples `x` without a derivative: callers supply the adjoint. @pre is_fused(x)
[[nodiscard]] at::Tensor fused_resampling(const at::Tensor& x, const MapResampling& to);

}  // namespace gangway::gan
