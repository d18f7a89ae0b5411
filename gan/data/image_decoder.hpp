// SPDX-License-Identifier: MIT
// Files of pictures become pixels: the one way in for folders, ZIPs and the fuzzer. Any thread.
// What each kind of file means is in docs/pictures.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gan/data/pixels.hpp"

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

/// Decodes a PNG or JPEG file, told apart by its first bytes, to 8 bits, as it is to be looked at:
/// turned as its Exif block says, laid over white where it is transparent. Gray stays gray, all
/// else becomes RGB.
/// @param name what to call the file in a message.
/// @throws ConfigError naming it: another kind of file, truncated, damaged, too large.
[[nodiscard]] Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                  const DecodeOptions& options = {});

}  // namespace gangway::data
