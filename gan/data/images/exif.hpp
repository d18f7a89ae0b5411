// SPDX-License-Identifier: MIT
// The one thing that matters here in a camera's notes about a picture: which way it was held. Used
// by the decoders; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "gan/data/images/pixels.hpp"

namespace gangway::data {

/// The orientation, 1 to 8, in an Exif block (CIPA DC-008, 4.6.4: tag 274 of the first directory),
/// which is laid out as a TIFF file. 1, as it is, where the block says nothing or makes no sense:
/// viewers do the same.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> block);

/// The image as it is to be looked at. @pre orientation is 1 to 8.
[[nodiscard]] Pixels turn_upright(Pixels image, int orientation);

}  // namespace gangway::data
