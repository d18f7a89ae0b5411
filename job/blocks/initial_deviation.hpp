// SPDX-License-Identifier: MIT
// How far apart the weights of a layer begin.
#pragma once

#include <cmath>
#include <cstdint>

namespace gangway {

/// Of weights that keep the variance of what they sum up, times `gain` (He et al., 2015).
[[nodiscard]] inline double deviation(double gain, std::int64_t fan_in) {
  return gain / std::sqrt(static_cast<double>(fan_in));
}

/// Glorot and Bengio, 2010, eq. 16, times `gain`.
[[nodiscard]] inline double balanced_deviation(double gain, std::int64_t in, std::int64_t out) {
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

}  // namespace gangway
