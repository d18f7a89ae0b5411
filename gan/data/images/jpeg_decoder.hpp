// SPDX-License-Identifier: MIT
// JPEG files, of which no file but this one's source knows the library. Called by decode_image; any
// thread.
#pragma once

#include "gan/data/images/encoded_image.hpp"

namespace gangway::data {

/// Gray, RGB, YCbCr, CMYK and YCCK of 8 bits, sequential and progressive. @throws ConfigError
/// naming the file.
[[nodiscard]] Pixels decode_jpeg(const EncodedImage& file);

}  // namespace gangway::data
