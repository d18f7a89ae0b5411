// SPDX-License-Identifier: MIT
// Measures the similarity of pictures, for translation networks. Any thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// Returns each example's mean absolute difference of shades in [0, 255], of pictures [N, C, H, W]
/// in [-1, 1]: [N], float64.
[[nodiscard]] at::Tensor absolute_differences(const at::Tensor& one, const at::Tensor& other);

/// Returns each example's structural similarity (SSIM), 1 for equal pictures: [N], float64. It
/// averages over channels and all inner windows of 11x11 pixels. Weights are Gaussian with
/// deviation 1.5; K1 = 0.01 and K2 = 0.03 (Wang et al., 2004, eq. 13 and section III.B; variances
/// are weighted means, not estimates).
/// @pre both sides are 11 pixels or more
[[nodiscard]] at::Tensor structural_similarities(const at::Tensor& one, const at::Tensor& other);

}  // namespace gangway::gan
