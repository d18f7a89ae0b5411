// SPDX-License-Identifier: MIT
// PNG files, of which no file but this one's source knows the library. Called by decode_image; any
// thread.
#pragma once

#include "gan/data/images/encoded_image.hpp"

namespace gangway::data {

/// All of PNG: 1 to 16 bits, palettes, transparency, interlaced. @throws ConfigError naming the
/// file.
[[nodiscard]] Pixels decode_png(const EncodedImage& file);

}  // namespace gangway::data
