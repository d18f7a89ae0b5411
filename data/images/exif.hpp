// SPDX-License-Identifier: MIT
// Reads a picture's orientation from Exif. Used by the decoders. Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "data/images/pixels.hpp"

namespace gangway::data {

/// Returns the orientation, 1 to 8, from an Exif block in TIFF layout (CIPA DC-008, 4.6.4: tag 274
/// of the first directory). Returns 1 (upright) if it is missing or invalid, as viewers do.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> block);

/// Turns the image upright. @pre orientation is 1 to 8
[[nodiscard]] Pixels turn_upright(Pixels image, int orientation);

}  // namespace gangway::data
