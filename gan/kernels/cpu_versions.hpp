// SPDX-License-Identifier: MIT
// Compiles loops over floats once for each vector width; the CPU selects a version at run time.
// Every version uses 16 lanes, no fused multiply-add (-ffp-contract=off) and one order of sums, so
// all give the same bits. Any thread.
#pragma once

#include <cstdint>
#include <cstring>

#include <c10/util/BFloat16.h>

/// Put before a function that is no template; functions inlined into it get the same versions.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GANGWAY_CPU_VERSIONS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GANGWAY_CPU_VERSIONS
#endif
#define GANGWAY_INLINE __attribute__((always_inline)) inline

namespace gangway::gan {

inline constexpr int kLanes = 16;

using Lanes = float __attribute__((vector_size(4 * kLanes)));
using LaneBits = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using ShortLanes = std::uint16_t __attribute__((vector_size(2 * kLanes)));

/// Loads `count` elements; the other lanes become zero.
GANGWAY_INLINE void load(const float* from, int count, Lanes& to) {
  if (count == kLanes) {
    std::memcpy(&to, from, sizeof to);
  } else {
    to = Lanes{};
    std::memcpy(&to, from, static_cast<std::size_t>(count) * sizeof(float));
  }
}

GANGWAY_INLINE void load(const c10::BFloat16* from, int count, Lanes& to) {
  ShortLanes upper{};
  if (count == kLanes) {
    std::memcpy(&upper, from, sizeof upper);
  } else {
    std::memcpy(&upper, from, static_cast<std::size_t>(count) * sizeof(c10::BFloat16));
  }
  const LaneBits bits = __builtin_convertvector(upper, LaneBits) << 16U;
  std::memcpy(&to, &bits, sizeof to);
}

/// Stores the first `count` lanes.
GANGWAY_INLINE void store(const Lanes& from, int count, float* to) {
  if (count == kLanes) {
    std::memcpy(to, &from, sizeof from);
  } else {
    std::memcpy(to, &from, static_cast<std::size_t>(count) * sizeof(float));
  }
}

/// Stores them rounded to nearest, ties to even; NaN stays NaN.
GANGWAY_INLINE void store(const Lanes& from, int count, c10::BFloat16* to) {
  constexpr std::uint32_t kQuiet = 0x7FC0'0000U;
  LaneBits bits;
  std::memcpy(&bits, &from, sizeof bits);
  const LaneBits rounded = bits + 0x7FFFU + ((bits >> 16U) & 1U);
  const LaneBits kept = from == from ? rounded : LaneBits{} + kQuiet;
  const ShortLanes upper = __builtin_convertvector(kept >> 16U, ShortLanes);
  if (count == kLanes) {
    std::memcpy(to, &upper, sizeof upper);
  } else {
    std::memcpy(to, &upper, static_cast<std::size_t>(count) * sizeof(c10::BFloat16));
  }
}

}  // namespace gangway::gan
