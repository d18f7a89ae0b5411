// SPDX-License-Identifier: MIT
// Kernel distance between two sets of feature vectors (Binkowski et al., "Demystifying MMD GANs",
// 2018, section 4). Unlike the Fréchet distance it assumes no Gaussians, and its estimate is
// unbiased even for few samples. Used by `gangway-model evaluate`. Any thread; double precision.
#pragma once

#include <cstdint>

#include "gan/torch.hpp"

namespace gangway::gan {

/// Returns an unbiased estimate of MMD^2 (Gretton et al., 2012, eq. 3) with the kernel (x.y / d +
/// 1)^3. It is negative if two sets are closer than expected by chance.
/// @param a, b [N, d] and [M, d], any float type  @pre N, M >= 2
[[nodiscard]] double squared_mmd(const at::Tensor& a, const at::Tensor& b);

/// Compares `count` pairs of subsets with `size` rows each (fewer if a set has fewer), drawn by
/// `seed` without repetition within a subset.
struct KernelSubsets {
  std::int64_t count = 100;
  std::int64_t size = 1'000;
  std::uint64_t seed = 0;
};

struct KernelDistance {
  double mean = 0.0;       ///< over pairs of subsets: the distance
  double deviation = 0.0;  ///< standard deviation of one pair's value
};

/// @pre N, M >= 2, subsets.count >= 1
[[nodiscard]] KernelDistance kernel_distance(const at::Tensor& real, const at::Tensor& generated,
                                             const KernelSubsets& subsets = {});

}  // namespace gangway::gan
