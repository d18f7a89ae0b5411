// SPDX-License-Identifier: MIT
// How files of pictures are decoded.
#pragma once

#include <cstdint>

namespace gangway::data {

struct DecodeOptions {
  /// The shorter side, in pixels, that will be left of the image. A JPEG is decoded at a half, a
  /// quarter or an eighth of its size where its sides can be divided by that and kSpareScale times
  /// as much is left; 0: never.
  int wanted_side = 0;
  /// A bound on memory: 134 million pixels (512 MiB while transparency is laid over white) are more
  /// than any camera's.
  std::int64_t most_pixels = std::int64_t{1} << 27;
};

/// How many times larger than wanted a reduced JPEG still is: as in Pillow's reducing_gap, of which
/// 3 is said to be close to the whole image; measured in tests/gan/data/compare_with_pillow.py.
inline constexpr int kSpareScale = 3;

}  // namespace gangway::data
