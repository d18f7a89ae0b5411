// SPDX-License-Identifier: MIT
// Decodes picture files; the only decoder of folders, ZIPs and the fuzzer. Any thread. For the
// formats see docs/pictures.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/images/decode_options.hpp"
#include "data/images/pixels.hpp"

namespace gangway::data {

/// Decodes a PNG, JPEG or WebP file, recognised by its first bytes, to 8 bits. Turns it upright by
/// its Exif block and blends transparency with white. Gray stays gray; all else becomes RGB.
/// @param name  of the file, for messages
/// @throws ConfigError naming a file that is of another format, truncated, damaged or too large
[[nodiscard]] Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                  const DecodeOptions& options = {});

}  // namespace gangway::data
