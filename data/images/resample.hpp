// SPDX-License-Identifier: MIT
// Resizes images of any size to one size. Called by the data sets. Any thread.
#pragma once

#include "data/images/pixels.hpp"

namespace gangway::data {

/// Crops the largest centred square and resamples it to side x side pixels. If the excess is odd,
/// the part above or to the left is smaller. Bicubic (Keys, 1981, a = -1/2); when shrinking, the
/// filter is widened by the scale, so nothing aliases. Pixels beyond the edge do not count; values
/// stay without gamma. Equals Pillow but for its rounding between the two directions.
///
/// Own code because its bits are part of the numerics contract: sums of floats have one order on
/// every processor.
[[nodiscard]] Pixels fit_square(const Pixels& image, int side);

}  // namespace gangway::data
