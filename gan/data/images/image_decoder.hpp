// SPDX-License-Identifier: MIT
// Files of pictures become pixels: the one way in for folders, ZIPs and the fuzzer. Any thread.
// What each kind of file means is in docs/pictures.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gan/data/images/decode_options.hpp"
#include "gan/data/images/pixels.hpp"

namespace gangway::data {

/// Decodes a PNG, JPEG or WebP file, told apart by its first bytes, to 8 bits, as it is to be
/// looked at: turned as its Exif block says, laid over white where it is transparent. Gray stays
/// gray, all else becomes RGB.
/// @param name what to call the file in a message.
/// @throws ConfigError naming it: another kind of file, truncated, damaged, too large.
[[nodiscard]] Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                                  const DecodeOptions& options = {});

}  // namespace gangway::data
