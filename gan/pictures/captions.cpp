// SPDX-License-Identifier: MIT
#include "gan/pictures/captions.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/pictures/digits.hpp"

namespace gangway::pictures {
namespace {

/// Returns the digits' scale for images of `width` pixels: one for each 64.
int scale_of(int width) {
  constexpr int kPixelsForOne = 64;
  return std::max(1, width / kPixelsForOne);
}

int text_width(const std::string& text, int scale) {
  return scale * (static_cast<int>(text.size()) * kDigitStep + 1);
}

int band_height(int scale) { return scale * (kDigitHeight + 2); }

void copy(const Raster& from, Raster& to, int top, int left) {
  for (int row = 0; row < from.height; ++row) {
    std::copy_n(from.pixels.data() + from.offset(row, 0), from.width * from.channels,
                to.pixels.data() + to.offset(top + row, left));
  }
}

}  // namespace

Raster arrange_captioned(const ImageBatch& images, int columns,
                         std::span<const std::string> captions) {
  if (captions.size() != static_cast<std::size_t>(images.count) || columns < 1) {
    throw InvariantError(fmt::format("{} captions of {} images in {} columns", captions.size(),
                                     images.count, columns));
  }
  const int scale = scale_of(images.width);
  int cell_width = images.width;
  for (const std::string& caption : captions) {
    cell_width = std::max(cell_width, text_width(caption, scale));
  }
  const int cell_height = images.height + band_height(scale);
  const int rows = (images.count + columns - 1) / columns;
  constexpr std::uint8_t kWhite = 255;
  Raster raster = make_raster(rows * cell_height, columns * cell_width, images.channels, kWhite);
  const std::size_t values = images.pixels.size() / static_cast<std::size_t>(images.count);
  for (int i = 0; i < images.count; ++i) {
    ImageBatch one = images;
    one.count = 1;
    one.pixels = images.pixels.subspan(static_cast<std::size_t>(i) * values, values);
    const int top = i / columns * cell_height;
    const int left = i % columns * cell_width;
    copy(arrange_grid(one, 1), raster, top, left);
    write_digits(raster, captions[static_cast<std::size_t>(i)],
                 {.column = left + scale, .row = top + images.height + scale}, scale);
  }
  return raster;
}

}  // namespace gangway::pictures
