// SPDX-License-Identifier: MIT
#include "data/images/pixels.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

/// Returns the luma by ITU-R BT.601 weights (0.299, 0.587, 0.114) times 2^16, which sum to 2^16.
std::uint8_t luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >>
                                   16U);
}

}  // namespace

Pixels make_pixels(int height, int width, int channels) {
  Pixels result{.height = height, .width = width, .channels = channels, .values = {}};
  result.values.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                       static_cast<std::size_t>(channels));
  return result;
}

void lay_over_white(Pixels& image) {
  if (image.channels != 2 && image.channels != 4) {
    return;
  }
  const auto step = static_cast<std::size_t>(image.channels);
  const std::size_t colors = step - 1;
  const std::size_t count = image.values.size() / step;
  for (std::size_t pixel = 0; pixel < count; ++pixel) {
    const std::uint8_t* source = image.values.data() + pixel * step;
    const unsigned opacity = source[colors];
    for (std::size_t color = 0; color < colors; ++color) {
      const unsigned mixed = source[color] * opacity + 255U * (255U - opacity);
      image.values[pixel * colors + color] = static_cast<std::uint8_t>((mixed + 127U) / 255U);
    }
  }
  image.channels = static_cast<int>(colors);
  image.values.resize(count * colors);
}

Pixels pad_square(const Pixels& image, int side) {
  Pixels result = make_pixels(side, side, image.channels);
  const int top = (side - image.height) / 2;
  const int left = (side - image.width) / 2;
  const std::size_t row_bytes =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  for (int row = 0; row < image.height; ++row) {
    std::copy_n(image.values.data() + image.offset(row, 0), row_bytes,
                result.values.data() + result.offset(top + row, left));
  }
  return result;
}

void to_floats(const Pixels& image, int channels, std::span<float> out) {
  const std::size_t plane =
      static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width);
  if (out.size() != plane * static_cast<std::size_t>(channels)) {
    throw InvariantError(fmt::format("an image of {} x {} x {} does not fit {} values", channels,
                                     image.height, image.width, out.size()));
  }
  for (std::size_t pixel = 0; pixel < plane; ++pixel) {
    const std::uint8_t* source =
        image.values.data() + pixel * static_cast<std::size_t>(image.channels);
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
