// SPDX-License-Identifier: MIT
// Decoded 8-bit images and what is done to them on the way to the network. Used by the data sets; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::data {

/// 8-bit pixels, row-major, channels interleaved.
struct Pixels {
  int height = 0;
  int width = 0;
  int channels = 1;  ///< 1 (gray) or 3 (RGB)
  std::vector<std::uint8_t> values;
};

/// Decodes a PNG or JPEG file, told apart by its first bytes: gray stays gray, all else becomes RGB; transparency is laid
/// over white.
/// @param name what to call the file in a message.
/// @throws ConfigError naming it: neither PNG nor JPEG, truncated, damaged, more than 2^28 pixels.
[[nodiscard]] Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name);

/// The largest centred square, resized to side x side: bilinear when it grows, area-weighted by a triangle when it shrinks
/// (stb_image_resize; pixel values are averaged as stored, without gamma).
[[nodiscard]] Pixels fit_square(const Pixels& image, int side);

/// The image in the middle of a square of side pixels, black around it. @pre side >= height, width.
[[nodiscard]] Pixels pad_square(const Pixels& image, int side);

/// Writes [channels, height, width] floats, x / 127.5 - 1. Gray is repeated for three channels; RGB becomes gray by the
/// luma of ITU-R BT.601 in 16-bit fixed point. @pre out holds channels * height * width values.
void to_floats(const Pixels& image, int channels, std::span<float> out);

/// x / 127.5 - 1 in single precision.
[[nodiscard]] constexpr float to_unit(std::uint8_t value) { return static_cast<float>(value) / 127.5F - 1.0F; }

}  // namespace gangway::data
