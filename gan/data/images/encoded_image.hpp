// SPDX-License-Identifier: MIT
// What the decoders of gan/data share: the file in memory, room for its pixels, and how they
// complain. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gan/data/images/decode_options.hpp"
#include "gan/data/images/pixels.hpp"

namespace gangway::data {

/// A file whose first bytes have been recognised; borrowed for the time of a call.
struct EncodedImage {
  std::span<const std::uint8_t> bytes;
  const std::string& name;
  const DecodeOptions& options;
};

/// @throws ConfigError: the file's name, `what`, and the remedy.
[[noreturn]] void fail(const EncodedImage& file, std::string_view what);

/// @throws ConfigError if a file says that it holds no pixel, or more than are allowed.
void require_size(const EncodedImage& file, std::int64_t width, std::int64_t height);

}  // namespace gangway::data
