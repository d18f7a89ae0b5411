// SPDX-License-Identifier: MIT
// Decodes WebP files; only this header's source includes the library. Called by decode_image. Any
// thread.
#pragma once

#include "data/images/encoded_image.hpp"

namespace gangway::data {

/// Decodes one picture, lossy or lossless, with or without opacity. @throws ConfigError naming the
/// file
[[nodiscard]] Pixels decode_webp(const EncodedImage& file);

}  // namespace gangway::data
