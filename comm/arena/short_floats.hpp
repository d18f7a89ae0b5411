// SPDX-License-Identifier: MIT
// Converts floats to and from bfloat16 (the upper half of a float) and IEEE 754 binary16. Rounds to
// nearest, ties to even; an infinity stays an infinity, a NaN a quiet NaN with its upper bits.
// Branch-free, so that compilers vectorise loops over it. Called by comm/arena/wire_format.cpp.
// Pure; any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gangway::comm {

/// Selects `first` or `second` by mask, which compilers do not turn into a branch.
[[nodiscard]] inline std::uint32_t chosen(bool is_first, std::uint32_t first,
                                          std::uint32_t second) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(is_first);
  return (first & mask) | (second & ~mask);
}

[[nodiscard]] inline std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t not_a_number = (bits >> 16U) | 0x40U;
  // Signed comparisons, because the oldest vector units have no unsigned ones.
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFF'FFFFU);
  return static_cast<std::uint16_t>(magnitude > 0x7F80'0000 ? not_a_number : rounded);
}

[[nodiscard]] inline float of_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

[[nodiscard]] inline std::uint16_t fp16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rest = bits & 0x7FFF'FFFFU;
  const auto magnitude = static_cast<std::int32_t>(rest);
  // Below 2^-14: adding 1/2 aligns the half's last bit with the sum's last bit, so the sum rounds.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F) - 0x3F00'0000U;
  const std::uint32_t normal = (rest - (112U << 23U) + 0xFFFU + ((rest >> 13U) & 1U)) >> 13U;
  const std::uint32_t not_a_number = 0x7E00U | ((rest >> 13U) & 0x3FFU);
  const std::uint32_t huge = magnitude > 0x7F80'0000 ? not_a_number : 0x7C00U;
  const std::uint32_t finite = chosen(magnitude < 0x3880'0000, denormal, normal);
  return static_cast<std::uint16_t>(chosen(magnitude < 0x4780'0000, finite, huge) |
                                    ((bits >> 16U) & 0x8000U));
}

[[nodiscard]] inline float of_fp16(std::uint16_t bits) {
  const std::uint32_t rest = bits & 0x7FFFU;
  // Denormals too, because scaling by a power of two is exact.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13U) * 0x1p112F);
  const std::uint32_t quiet = static_cast<std::int32_t>(rest) > 0x7C00 ? 0x40'0000U : 0U;
  const std::uint32_t other = 0x7F80'0000U | (rest << 13U) | quiet;
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  return std::bit_cast<float>(chosen(static_cast<std::int32_t>(rest) < 0x7C00, finite, other) |
                              sign);
}

/// How fp16 is converted: by the CPU's own instructions, or by integer arithmetic. Both give the
/// same bits.
enum class Fp16Conversion { kPortable, kNative };
/// kNative if this CPU has the instructions.
[[nodiscard]] Fp16Conversion fastest_halves();

/// halves[i] = fp16 of values[i] * factor. @pre `factor` is a power of two; equal sizes, a multiple
/// of 8; kNative only if fastest_halves() returns it
void to_fp16(std::span<const float> values, float factor, std::span<std::uint16_t> halves,
             Fp16Conversion way);
/// values[i] = halves[i] * factor. @pre as to_fp16
void from_fp16(std::span<const std::uint16_t> halves, float factor, std::span<float> values,
               Fp16Conversion way);

}  // namespace gangway::comm
