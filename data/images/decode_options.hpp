// SPDX-License-Identifier: MIT
// Options of decoding picture files.
#pragma once

#include <cstdint>

namespace gangway::data {

struct DecodeOptions {
  /// Shorter side, in pixels, that the image will be reduced to; 0: decode at full size. A JPEG is
  /// decoded at 1/2, 1/4 or 1/8 if that divides its sides and leaves kSpareScale times the wanted
  /// side.
  int wanted_side = 0;
  /// Memory bound: 134 million pixels (512 MiB while blending transparency), more than any
  /// camera's.
  std::int64_t most_pixels = std::int64_t{1} << 27;
};

/// Minimum size of a reduced JPEG relative to the wanted size, as Pillow's reducing_gap, where 3 is
/// nearly equal to full decoding. Measured in tests/data/compare_with_pillow.py.
inline constexpr int kSpareScale = 3;

}  // namespace gangway::data
