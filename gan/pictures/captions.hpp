// SPDX-License-Identifier: MIT
// Draws grids of pictures with a number under each, for `gangway sample --captions`. No LibTorch.
// Any thread.
#pragma once

#include <span>
#include <string>

#include "gan/pictures/png.hpp"

namespace gangway::pictures {

/// As arrange_grid, with a line of digits and colons below each image on white. Digits grow with
/// the images, and cells are as wide as the widest line.
/// @pre as many captions as images
[[nodiscard]] Raster arrange_captioned(const ImageBatch& images, int columns,
                                       std::span<const std::string> captions);

}  // namespace gangway::pictures
