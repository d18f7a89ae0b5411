// SPDX-License-Identifier: MIT
// BatchNorm of a micro-batch's own statistics, the activation behind it, and the statistics
// themselves, in one function on CPUs: two looks at what comes in and one write, backward too,
// where LibTorch's operators take twice as many. Compute thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

struct NormedFeatures {
  at::Tensor features;  ///< as `x`: type, shape, memory format
  at::Tensor mean;      ///< [C], float32, without a graph
  at::Tensor variance;  ///< the same, unbiased, as BatchNorm's running one is made of
};

/// y = a((x - mean) / sqrt(variance + epsilon) * gain + shift), where a(z) is z above zero and
/// z * slope below (1: no activation, 0: ReLU); Ioffe and Szegedy, 2015, algorithm 1. Its gradients
/// have no derivatives of their own.
/// @param x  [N, C] or [N, C, H, W], contiguous or channels last, float32 or bf16
/// @param gain, shift  [C], float32
/// @throws InvariantError from backward, where a second derivative is asked for
[[nodiscard]] NormedFeatures normed_and_activated(const at::Tensor& x, const at::Tensor& gain,
                                                  const at::Tensor& shift, double epsilon,
                                                  double slope);

/// Whether these are what normed_and_activated() is for.
[[nodiscard]] bool can_norm(const at::Tensor& x, const at::Tensor& gain);

}  // namespace gangway::gan
