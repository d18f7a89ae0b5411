// SPDX-License-Identifier: MIT
#include "gan/data/pixels.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <stb_image_resize.h>

#include "job/errors.hpp"

namespace gangway::data {
namespace {

std::size_t offset(const Pixels& image, int row, int column) {
  return (static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(column)) *
         static_cast<std::size_t>(image.channels);
}

Pixels make_pixels(int side, int channels) {
  Pixels result{.height = side, .width = side, .channels = channels, .values = {}};
  result.values.resize(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) *
                       static_cast<std::size_t>(channels));
  return result;
}

/// Weights of red, green and blue of ITU-R BT.601 (0.299, 0.587, 0.114) times 2^16; they add up to 2^16.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16U);
}

}  // namespace

Pixels fit_square(const Pixels& image, int side) {
  const int square = std::min(image.height, image.width);
  const int top = (image.height - square) / 2;
  const int left = (image.width - square) / 2;
  Pixels result = make_pixels(side, image.channels);
  const int done = stbir_resize_uint8_generic(
      image.values.data() + offset(image, top, left), square, square, image.width * image.channels,
      result.values.data(), side, side, side * image.channels, image.channels, STBIR_ALPHA_CHANNEL_NONE, 0,
      STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr);
  if (done == 0) {
    throw EnvironmentError(fmt::format("resizing an image of {} x {} pixels to {} x {}: out of memory", image.width,
                                       image.height, side, side));
  }
  return result;
}

Pixels pad_square(const Pixels& image, int side) {
  Pixels result = make_pixels(side, image.channels);
  const int top = (side - image.height) / 2;
  const int left = (side - image.width) / 2;
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  for (int row = 0; row < image.height; ++row) {
    std::copy_n(image.values.data() + offset(image, row, 0), row_bytes,
                result.values.data() + offset(result, top + row, left));
  }
  return result;
}

void to_floats(const Pixels& image, int channels, std::span<float> out) {
  const std::size_t plane = static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width);
  if (out.size() != plane * static_cast<std::size_t>(channels)) {
    throw InvariantError(fmt::format("an image of {} x {} x {} does not fit {} values", channels, image.height,
                                     image.width, out.size()));
  }
  for (std::size_t pixel = 0; pixel < plane; ++pixel) {
    const std::uint8_t* source = image.values.data() + pixel * static_cast<std::size_t>(image.channels);
    for (int channel = 0; channel < channels; ++channel) {
      std::uint8_t value = source[0];
      if (image.channels == 3) {
        value = channels == 1 ? luma(source) : source[channel];
      }
      out[static_cast<std::size_t>(channel) * plane + pixel] = to_unit(value);
    }
  }
}

}  // namespace gangway::data
