// SPDX-License-Identifier: MIT
// Standard deviations of a layer's initial weights.
#pragma once

#include <cmath>
#include <cstdint>

namespace gangway {

/// Returns the deviation that keeps the variance of a sum, times `gain` (He et al., 2015).
[[nodiscard]] inline double deviation(double gain, std::int64_t fan_in) {
  return gain / std::sqrt(static_cast<double>(fan_in));
}

/// Returns the deviation of Glorot and Bengio, 2010, eq. 16, times `gain`.
[[nodiscard]] inline double balanced_deviation(double gain, std::int64_t in, std::int64_t out) {
  return gain * std::sqrt(2.0 / static_cast<double>(in + out));
}

}  // namespace gangway
