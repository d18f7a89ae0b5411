// SPDX-License-Identifier: MIT
// Sliced Wasserstein distance between two sets of pictures (Karras et al., "Progressive Growing of
// GANs", 2018, section 5 and appendix). It compares patches of 7x7 pixels with all channels, at
// each level of a Laplacian pyramid. It needs no network, sees colours, and shows which size of
// detail differs. Used by `gangway-model evaluate`. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "gan/evaluation/fd_lenet.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kPatchSide = 7;  ///< pixels
inline constexpr std::int64_t kLeastLevelSide = 16;

/// Returns [N, C, S, S], then levels of half the side each, while that is even and at least 16. A
/// level holds the detail that the next one loses; the last is the smallest picture.
[[nodiscard]] std::vector<at::Tensor> laplacian_pyramid(const at::Tensor& images);

/// Returns patches of the first `count` pictures for each pyramid level, finest first: float32
/// [count * patches, C * 49]. Each channel has mean 0 and deviation 1 over all. Places depend on
/// `seed` and the picture's number only.
[[nodiscard]] std::vector<at::Tensor> pyramid_patches(const ImageSource& images, std::int64_t count,
                                                      std::int64_t patches, std::uint64_t seed);

struct SlicedDistance {
  std::vector<double> by_level;  ///< finest first
  double mean = 0.0;             ///< over levels
};

/// Returns the mean distance, times 1,000 as published, of the sorted projections on 512 random
/// directions.
/// @param a, b  results of pyramid_patches, for equally many pictures of equal shape
[[nodiscard]] SlicedDistance sliced_distance(const std::vector<at::Tensor>& a,
                                             const std::vector<at::Tensor>& b, std::uint64_t seed);

}  // namespace gangway::gan
