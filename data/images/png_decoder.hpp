// SPDX-License-Identifier: MIT
// Decodes PNG files; only this header's source includes the library. Called by decode_image. Any
// thread.
#pragma once

#include "data/images/encoded_image.hpp"

namespace gangway::data {

/// Decodes any PNG: 1 to 16 bits, palettes, transparency, interlaced. @throws ConfigError naming
/// the file
[[nodiscard]] Pixels decode_png(const EncodedImage& file);

}  // namespace gangway::data
