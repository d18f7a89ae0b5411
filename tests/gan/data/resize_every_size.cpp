// SPDX-License-Identifier: MIT
// Images of every height and width from 1 to 300 pixels, brought to 32, 64 and 128: what must hold
// at any ratio.
//
//   resize_every_size STEP        every STEP-th size; 1: all 270,000
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gan/data/images/resample.hpp"

namespace {

using gangway::data::fit_square;
using gangway::data::Pixels;

constexpr int kLargest = 300;

Pixels draw(int height, int width, const std::function<int(int row, int column)>& value) {
  Pixels image = gangway::data::make_pixels(height, width, 1);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      image.values[image.offset(row, column)] = static_cast<std::uint8_t>(value(row, column));
    }
  }
  return image;
}

bool is_everywhere(const Pixels& image, int value) {
  return std::all_of(image.values.begin(), image.values.end(),
                     [&](int pixel) { return pixel == value; });
}

/// Rows that do not fall, but for the last bit.
bool rises(const Pixels& image) {
  for (int row = 0; row < image.height; ++row) {
    for (int column = 1; column < image.width; ++column) {
      if (image.values[image.offset(row, column)] + 1 <
          image.values[image.offset(row, column - 1)]) {
        return false;
      }
    }
  }
  return true;
}

/// The cubic overshoots by less than a quarter of a step in each direction.
bool is_within(const Pixels& image, int low, int high) {
  const int margin = (high - low) / 2;
  return std::all_of(image.values.begin(), image.values.end(),
                     [&](int pixel) { return pixel >= low - margin && pixel <= high + margin; });
}

bool holds(int side, int height, int width) {
  const int longest = std::max(height, width);
  const bool is_constant =
      is_everywhere(fit_square(draw(height, width, [](int, int) { return 201; }), side), 201);
  const bool is_ramp = rises(fit_square(
      draw(height, width, [&](int, int column) { return 255 * column / longest; }), side));
  const bool is_near = is_within(fit_square(draw(height, width,
                                                 [](int row, int column) {
                                                   return 100 + (row * 7919 + column * 104729) % 41;
                                                 }),
                                            side),
                                 100, 140);
  if (!is_constant || !is_ramp || !is_near) {
    std::printf("%d x %d: constant %d, ramp %d, range %d\n", width, height, is_constant, is_ramp,
                is_near);
  }
  return is_constant && is_ramp && is_near;
}

}  // namespace

int main(int argc, char** argv) {
  const int step = argc == 2 ? std::atoi(argv[1]) : 0;
  if (step < 1) {
    (void)std::fprintf(stderr, "usage: resize_every_size STEP\n");
    return 2;
  }
  int looked_at = 0;
  int wrong = 0;
  for (const int side : {32, 64, 128}) {
    for (int height = 1; height <= kLargest; height += step) {
      for (int width = 1; width <= kLargest; width += step) {
        wrong += holds(side, height, width) ? 0 : 1;
        ++looked_at;
      }
    }
  }
  std::printf("%d sizes, %d wrong\n", looked_at, wrong);
  return wrong == 0 ? 0 : 1;
}
