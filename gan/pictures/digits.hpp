// SPDX-License-Identifier: MIT
// What numbers in pictures are written with: black digits of 3 x 5 pixels, magnified. Used by plots
// and captions; any thread.
#pragma once

#include <string_view>

#include "gan/pictures/png.hpp"

namespace gangway::pictures {

inline constexpr int kDigitWidth = 3;
inline constexpr int kDigitHeight = 5;
/// From one to the next.
inline constexpr int kDigitStep = kDigitWidth + 1;

/// A place in a picture; rows count downwards.
struct Pixel {
  int column = 0;
  int row = 0;
};

/// Digits and "-+.e:"; of other letters, and outside of the picture, nothing is drawn.
/// @param at     the upper left corner of the first
/// @param scale  pixels a side of each of theirs
void write_digits(Raster& raster, std::string_view text, Pixel at, int scale);

}  // namespace gangway::pictures
