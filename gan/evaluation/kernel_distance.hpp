// SPDX-License-Identifier: MIT
// Kernel distance between two sets of feature vectors (Binkowski et al., "Demystifying MMD GANs",
// 2018, section 4): unlike the Fréchet distance it takes them for no Gaussians, and its estimate is
// unbiased, so that it can be had from few samples. Used by `gangway-model evaluate`. Any thread;
// double precision.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Unbiased estimate of MMD^2 (Gretton et al., 2012, eq. 3) with the kernel (x.y / d + 1)^3; below
/// zero where two sets are closer than chance would have them.
/// @param a, b [N, d] and [M, d], any float type  @pre N, M >= 2
[[nodiscard]] double squared_mmd(const at::Tensor& a, const at::Tensor& b);

/// Which parts of the sets are compared: `count` pairs of them, of `size` rows each (fewer where a
/// set has fewer), chosen by `seed` without repetition within a part.
struct KernelSubsets {
  std::int64_t count = 100;
  std::int64_t size = 1'000;
  std::uint64_t seed = 0;
};

struct KernelDistance {
  double mean = 0.0;       ///< over the pairs of parts: the distance
  double deviation = 0.0;  ///< of one pair's value around it
};

/// @pre N, M >= 2, subsets.count >= 1
[[nodiscard]] KernelDistance kernel_distance(const at::Tensor& real, const at::Tensor& generated,
                                             const KernelSubsets& subsets = {});

}  // namespace gangway::gan
