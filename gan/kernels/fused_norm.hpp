// SPDX-License-Identifier: MIT
// BatchNorm with a micro-batch's own statistics, and the activation behind it, in one CPU function.
// Forward and backward each read the input twice and write once; LibTorch's operators take twice as
// many passes. Compute thread.
#pragma once

#include <ATen/ATen.h>

namespace gangway::gan {

struct NormedFeatures {
  at::Tensor features;  ///< type, shape and memory format of `x`
  at::Tensor mean;      ///< [C], float32, without a graph
  at::Tensor variance;  ///< the same; unbiased, for BatchNorm's running variance
};

/// Computes y = a((x - mean) / sqrt(variance + epsilon) * gain + shift) (Ioffe and Szegedy, 2015,
/// algorithm 1). a(z) is z above zero and z * slope below (1: no activation, 0: ReLU). Second
/// derivatives are LibTorch's, and slower.
/// @param x  [N, C] or [N, C, H, W], contiguous or channels last, float32 or bf16
/// @param gain, shift  [C], float32
[[nodiscard]] NormedFeatures normed_and_activated(const at::Tensor& x, const at::Tensor& gain,
                                                  const at::Tensor& shift, double epsilon,
                                                  double slope);

/// Returns whether normed_and_activated() supports these tensors.
[[nodiscard]] bool can_norm(const at::Tensor& x, const at::Tensor& gain);

}  // namespace gangway::gan
