// SPDX-License-Identifier: MIT
// Sliced Wasserstein distance between two sets of pictures (Karras et al., "Progressive Growing of
// GANs", 2018, section 5 and appendix): patches of 7x7 pixels with all of their channels, at each
// level of a Laplacian pyramid. It needs no network, sees colours, and a level says at which size
// of detail two sets differ. Used by `gangway-model evaluate`. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "gan/evaluation/fd_lenet.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kPatchSide = 7;  ///< pixels
inline constexpr std::int64_t kLeastLevelSide = 16;

/// [N, C, S, S], then of half the side each, as long as that is even and at least 16: what is lost
/// at the step to the next level, and at last the smallest picture itself.
[[nodiscard]] std::vector<at::Tensor> laplacian_pyramid(const at::Tensor& images);

/// Patches of the first `count` pictures, by level of their pyramids, the finest first: [count *
/// patches, C * 49], float32, of each channel with mean 0 and deviation 1 over all. Their places
/// depend on `seed` and the number of the picture alone.
[[nodiscard]] std::vector<at::Tensor> pyramid_patches(const ImageSource& images, std::int64_t count,
                                                      std::int64_t patches, std::uint64_t seed);

struct SlicedDistance {
  std::vector<double> by_level;  ///< the finest first
  double mean = 0.0;             ///< over levels
};

/// Mean distance, times 1,000 as published, of the sorted projections on 512 random directions.
/// @param a, b  of pyramid_patches, of equally many pictures of equal shape
[[nodiscard]] SlicedDistance sliced_distance(const std::vector<at::Tensor>& a,
                                             const std::vector<at::Tensor>& b, std::uint64_t seed);

}  // namespace gangway::gan
