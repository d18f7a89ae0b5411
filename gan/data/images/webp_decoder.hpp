// SPDX-License-Identifier: MIT
// WebP files, of which no file but this one's source knows the library. Called by decode_image; any
// thread.
#pragma once

#include "gan/data/images/encoded_image.hpp"

namespace gangway::data {

/// Lossy and lossless, with opacity or without, of one picture. @throws ConfigError naming the
/// file.
[[nodiscard]] Pixels decode_webp(const EncodedImage& file);

}  // namespace gangway::data
