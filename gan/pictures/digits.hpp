// SPDX-License-Identifier: MIT
// Draws numbers in pictures: black digits of 3 x 5 pixels, magnified. Used by plots and captions.
// Any thread.
#pragma once

#include <string_view>

#include "gan/pictures/png.hpp"

namespace gangway::pictures {

inline constexpr int kDigitWidth = 3;
inline constexpr int kDigitHeight = 5;
/// Distance between digits.
inline constexpr int kDigitStep = kDigitWidth + 1;

/// A place in a picture; rows count downwards.
struct Pixel {
  int column = 0;
  int row = 0;
};

/// Draws digits and "-+.e:". Skips other letters and positions outside the picture.
/// @param at     upper left corner of the first letter
/// @param scale  side of a digit's pixel, in pixels of the raster
void write_digits(Raster& raster, std::string_view text, Pixel at, int scale);

}  // namespace gangway::pictures
