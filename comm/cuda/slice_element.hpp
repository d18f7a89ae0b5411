// SPDX-License-Identifier: MIT
// Updates one element and loads its summands: the code that kernels and host references share.
// Included by .cpp and .cu files.
#pragma once

#include <cmath>

#include "comm/cuda/slice_update.hpp"

namespace gangway::comm {

GANGWAY_HOST_DEVICE inline float decode(std::uint16_t half, WireType type) {
  return type == WireType::kBfloat16 ? from_bfloat16(half) : from_float16(half);
}

GANGWAY_HOST_DEVICE inline std::uint16_t encode(float value, WireType type) {
  return type == WireType::kBfloat16 ? to_bfloat16(value) : to_float16(value);
}

/// Element `index` of `values`.
GANGWAY_HOST_DEVICE inline float load_element(const void* values, WireType type,
                                              std::int64_t index) {
  return type == WireType::kFloat32
             ? static_cast<const float*>(values)[index]
             : decode(static_cast<const std::uint16_t*>(values)[index], type);
}

/// Updates one BatchNorm statistic.
GANGWAY_HOST_DEVICE inline void update_statistic(const UpdateConstants& c, float mean,
                                                 float& running) {
  if (c.statistics_share != 0.0F) {
    running = running_average(c, running, mean);
  }
}

/// Rounds value + residual, and stores the rounding error in `residual`.
GANGWAY_HOST_DEVICE inline std::uint16_t encode_element(float value, float* residual,
                                                        WireType type) {
  if (residual == nullptr) {
    return encode(value, type);
  }
  const float wanted = value + *residual;
  const std::uint16_t sent = encode(wanted, type);
  *residual = wanted - decode(sent, type);
  return sent;
}

/// Returns the factor for a gradient of this norm, as in comm/reduce/reducer.cpp.
/// @param clip_norm  0: no clipping
GANGWAY_HOST_DEVICE inline float clip_factor(double squared_norm, double clip_norm,
                                             double unscale) {
  const double factor = clip_norm > 0.0 ? clip_norm / (sqrt(squared_norm) * unscale + 1e-6) : 1.0;
  return static_cast<float>(unscale * (factor < 1.0 ? factor : 1.0));
}

}  // namespace gangway::comm
