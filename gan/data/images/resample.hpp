// SPDX-License-Identifier: MIT
// Brings images of any size to one. Called by the data sets; any thread.
#pragma once

#include "gan/data/images/pixels.hpp"

namespace gangway::data {

/// The largest centred square (where the rest is odd, the part above or to the left is the smaller
/// one), resampled to side x side pixels: bicubic (Keys, 1981, a = -1/2), stretched by the scale
/// where the image shrinks, so that all of its pixels count and nothing aliases. Any ratio, up or
/// down. Pixels beyond the edge do not count; values are taken as stored, without gamma. What
/// Pillow does, but for its rounding between the two directions.
///
/// Own code, because its bits are part of the numerics contract: sums of floats in one order, the
/// same on every processor.
[[nodiscard]] Pixels fit_square(const Pixels& image, int side);

}  // namespace gangway::data
