// SPDX-License-Identifier: MIT
// Decoded 8-bit images and what is done to them on the way to the network. Used by the data sets,
// and to_unit by kernels; any thread.
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
  int channels = 1;  ///< 1 (gray) or 3 (RGB); while a file is decoded, 2 or 4: the last is opacity
  std::vector<std::uint8_t> values;

  /// Where in `values` a pixel begins.
  [[nodiscard]] std::size_t offset(int row, int column) const {
    return (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
            static_cast<std::size_t>(column)) *
           static_cast<std::size_t>(channels);
  }
};

/// Black.
[[nodiscard]] Pixels make_pixels(int height, int width, int channels);

/// Takes opacity away, in place: what is behind the image is white. Values are mixed as stored, as
/// browsers do.
void lay_over_white(Pixels& image);

/// The image in the middle of a square of side pixels, black around it. @pre side >= height, width.
[[nodiscard]] Pixels pad_square(const Pixels& image, int side);

/// Writes [channels, height, width] floats, x / 127.5 - 1. Gray is repeated for three channels; RGB
/// becomes gray by the luma of ITU-R BT.601 in 16-bit fixed point. @pre out holds channels * height
/// * width values.
void to_floats(const Pixels& image, int channels, std::span<float> out);

/// x / 127.5 - 1 in single precision; both operations are rounded by IEEE 754 on every device.
[[nodiscard]] GANGWAY_HOST_DEVICE constexpr float to_unit(std::uint8_t value) {
  return static_cast<float>(value) / 127.5F - 1.0F;
}

}  // namespace gangway::data
