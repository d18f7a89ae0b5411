// SPDX-License-Identifier: MIT
// Decodes JPEG files; only this header's source includes the library. Called by decode_image. Any
// thread.
#pragma once

#include "data/images/encoded_image.hpp"

namespace gangway::data {

/// Decodes 8-bit gray, RGB, YCbCr, CMYK and YCCK, sequential and progressive. @throws ConfigError
/// naming the file
[[nodiscard]] Pixels decode_jpeg(const EncodedImage& file);

}  // namespace gangway::data
