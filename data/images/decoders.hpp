// SPDX-License-Identifier: MIT
// Decoders of picture files, one source for each library. Called by decode_image. Any thread.
#pragma once

#include "data/images/encoded_image.hpp"

namespace gangway::data {

/// Decodes any PNG: 1 to 16 bits, palettes, transparency, interlaced. @throws ConfigError naming
/// the file
[[nodiscard]] Pixels decode_png(const EncodedImage& file);

/// Decodes 8-bit gray, RGB, YCbCr, CMYK and YCCK, sequential and progressive. @throws ConfigError
/// naming the file
[[nodiscard]] Pixels decode_jpeg(const EncodedImage& file);

/// Decodes one WebP picture, lossy or lossless, with or without opacity. @throws ConfigError naming
/// the file
[[nodiscard]] Pixels decode_webp(const EncodedImage& file);

}  // namespace gangway::data
