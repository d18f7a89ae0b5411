// SPDX-License-Identifier: MIT
// How like two pictures are, for networks that make pictures of pictures. Any thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// By example, the mean absolute difference of shades in [0, 255], of pictures [N, C, H, W] in
/// [-1, 1]: [N], float64.
[[nodiscard]] at::Tensor absolute_differences(const at::Tensor& one, const at::Tensor& other);

/// By example, the structural similarity (SSIM) of the same, 1 for equal pictures: [N], float64.
/// The mean over channels and over all places of a window of 11x11 pixels that lies inside,
/// weighted by a Gaussian of deviation 1.5, with K1 = 0.01 and K2 = 0.03 (Wang et al., 2004, eq. 13
/// and section III.B; variances are weighted means, not estimates).
/// @pre both sides are 11 pixels or more
[[nodiscard]] at::Tensor structural_similarities(const at::Tensor& one, const at::Tensor& other);

}  // namespace gangway::gan
