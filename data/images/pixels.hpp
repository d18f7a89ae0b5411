// SPDX-License-Identifier: MIT
// Decoded 8-bit images and their conversion for the network. Used by the data sets, and to_unit by
// kernels. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gan/random.hpp"  // GANGWAY_HOST_DEVICE

namespace gangway::data {

/// 8-bit pixels, row-major, channels interleaved.
struct Pixels {
  int height = 0;
  int width = 0;
  int channels = 1;  ///< 1 (gray), 3 (RGB); 2 or 4 during decoding: with opacity last
  std::vector<std::uint8_t> values;

  /// Returns the index in `values` of a pixel's first channel.
  [[nodiscard]] std::size_t offset(int row, int column) const {
    return (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
            static_cast<std::size_t>(column)) *
           static_cast<std::size_t>(channels);
  }
};

/// Returns a black image.
[[nodiscard]] Pixels make_pixels(int height, int width, int channels);

/// Removes opacity in place by blending with white. Mixes stored values without gamma, as browsers
/// do.
void lay_over_white(Pixels& image);

/// Centres the image in a black square of side pixels. @pre side >= height, width
[[nodiscard]] Pixels pad_square(const Pixels& image, int side);

/// Writes floats [channels, height, width], x / 127.5 - 1. Repeats gray for three channels; turns
/// RGB into gray by ITU-R BT.601 luma in 16-bit fixed point. @pre out holds channels * height *
/// width values
void to_floats(const Pixels& image, int channels, std::span<float> out);

/// Returns x / 127.5 - 1 in single precision, with IEEE 754 rounding on every device.
[[nodiscard]] GANGWAY_HOST_DEVICE constexpr float to_unit(std::uint8_t value) {
  return static_cast<float>(value) / 127.5F - 1.0F;
}

}  // namespace gangway::data
