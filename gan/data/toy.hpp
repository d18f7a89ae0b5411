// SPDX-License-Identifier: MIT
// The two-dimensional mixtures on which mode coverage is counted: parameters of the sources toy:ring8 and toy:grid25.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace gangway::data {

/// Equally likely isotropic Gaussians.
struct ToyMixture {
  std::vector<std::array<float, 2>> centres;
  float sigma = 0;  ///< standard deviation of each coordinate
};

/// `ring8`: 8 centres on a circle of radius 2, sigma 0.02, all divided by 1.414; `grid25`: 5 x 5 centres 2 apart, sigma
/// 0.05, all divided by 2.828 (the toy data of Gulrajani et al., 2017, in their published code). Else nothing.
[[nodiscard]] std::optional<ToyMixture> toy_mixture(std::string_view name);

}  // namespace gangway::data
