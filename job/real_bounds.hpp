// SPDX-License-Identifier: MIT
// Bounds of a real number in a job file.
#pragma once

namespace gangway {

/// Far beyond any use; kimg this large still fits 64-bit image counts.
inline constexpr double kLargestReal = 1e9;

struct RealBounds {
  double low = 0.0;
  bool is_low_allowed = true;
  double high = kLargestReal;
  bool is_high_allowed = true;
};
inline constexpr RealBounds kAboveZero{.is_low_allowed = false};
inline constexpr RealBounds kZeroOrMore{};
inline constexpr RealBounds kZeroToOne{.high = 1.0};
inline constexpr RealBounds kZeroToBelowOne{.high = 1.0, .is_high_allowed = false};
inline constexpr RealBounds kAboveZeroToOne{.is_low_allowed = false, .high = 1.0};

}  // namespace gangway
