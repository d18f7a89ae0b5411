// SPDX-License-Identifier: MIT
// Computes one element of the fused update: running averages, the weight average, and the 16-bit
// wire formats; comm/cuda/optimizer_rules.hpp has the optimisers. CPU and GPU share the source.
// Both compilers give equal bits because it uses only IEEE operations and no contraction. Included
// by .cpp and .cu files.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "comm/cuda/host_device.hpp"

namespace gangway::comm {

/// The numbers of one update that change each step. They lie in device memory, so that a captured
/// CUDA graph reads the new ones. Made by `update_constants`.
struct UpdateConstants {
  float statistics_share = 0.0F;     ///< 1 / harvests per micro-batch; 0: statistics unchanged
  float statistics_momentum = 0.0F;  ///< momentum of the running averages
  float average_gain = 0.0F;         ///< 1 - beta of the weight average
  float unscale = 1.0F;              ///< losses were multiplied by 1 / unscale, a power of two
  /// The optimiser's rule, from comm/cuda/optimizer_rules.hpp.
  float rule_numbers[16] = {};  // NOLINT(modernize-avoid-c-arrays): for device code

  template <typename Rule>
  void set_rule(const Rule& rule) {
    static_assert(std::is_trivially_copyable_v<Rule> && sizeof(Rule) <= sizeof rule_numbers);
    memcpy(rule_numbers, &rule, sizeof rule);
  }
  /// @pre set_rule was called with the same Rule type
  template <typename Rule>
  [[nodiscard]] GANGWAY_HOST_DEVICE Rule rule() const {
    Rule rule;
    memcpy(&rule, rule_numbers, sizeof rule);
    return rule;
  }
};

/// The new running average of a statistic; `mean` is its mean over the micro-batches.
GANGWAY_HOST_DEVICE inline float running_average(const UpdateConstants& c, float running,
                                                 float mean) {
  return running + c.statistics_momentum * (mean * c.statistics_share - running);
}

/// The new exponential average of a weight.
GANGWAY_HOST_DEVICE inline float weight_average(const UpdateConstants& c, float average,
                                                float weight) {
  return average + c.average_gain * (weight - average);
}

GANGWAY_HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

GANGWAY_HOST_DEVICE inline float float_of(std::uint32_t bits) {
  float value = 0.0F;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Converts to bfloat16: to nearest, ties to even; every NaN becomes the quiet NaN.
GANGWAY_HOST_DEVICE inline std::uint16_t to_bfloat16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return 0x7FC0U;
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

GANGWAY_HOST_DEVICE inline float from_bfloat16(std::uint16_t half) {
  return float_of(static_cast<std::uint32_t>(half) << 16U);
}

/// Converts to IEEE binary16: to nearest, ties to even. Above 65,504: infinity; below 2^-24: zero;
/// every NaN becomes the quiet NaN.
GANGWAY_HOST_DEVICE inline std::uint16_t to_float16(float value) {
  const std::uint32_t bits = bits_of(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) {
    return 0x7E00U;
  }
  if (magnitude < 0x38800000U) {
    // Subnormal in binary16. Adding 1/2 aligns its last place (2^-24) with the last place of 1/2.
    const std::uint32_t aligned = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    return static_cast<std::uint16_t>(sign | aligned);
  }
  // Rebias the exponent from 127 to 15 and keep ten of 23 fraction bits.
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - (112U << 23U);
  const std::uint32_t half = rounded >> 13U;
  return static_cast<std::uint16_t>(sign | (half < 0x7C00U ? half : 0x7C00U));
}

GANGWAY_HOST_DEVICE inline float from_float16(std::uint16_t half) {
  const std::uint32_t sign = (static_cast<std::uint32_t>(half) & 0x8000U) << 16U;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00U) {
    return float_of(sign | 0x7F800000U | ((magnitude & 0x3FFU) << 13U));
  }
  if (magnitude < 0x400U) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return float_of(sign | bits_of(value));
  }
  return float_of(sign | ((magnitude << 13U) + (112U << 23U)));
}

}  // namespace gangway::comm
