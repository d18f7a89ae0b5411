// SPDX-License-Identifier: MIT
// Functions shared by gan/kernels/norm_strips.hpp and norm_planes.hpp. Included by
// gan/kernels/norm_loops.cpp only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gan/kernels/cpu_versions.hpp"
#include "gan/kernels/norm_arguments.hpp"

namespace gangway::gan::loops {

/// Rows that a float32 sum covers at most; sums of doubles collect the float sums.
constexpr std::int64_t kBlock = 64;

/// Writes the statistics of one channel into `with`.
GANGWAY_INLINE void keep(double count, double mean, double squares, const NormForward& with,
                         std::int64_t channel) {
  with.mean[channel] = static_cast<float>(mean);
  with.deviation_inverse[channel] =
      static_cast<float>(1.0 / std::sqrt(squares / count + with.epsilon));
  with.variance[channel] = static_cast<float>(squares / std::max(count - 1.0, 1.0));
}

// Vectors are passed by reference because the ABI of a return depends on their width.

GANGWAY_INLINE void activate(Lanes& z, float slope) {
  z = z > 0.0F ? z : z * slope + 0.0F;  // no -0 of ReLU
}

}  // namespace gangway::gan::loops
