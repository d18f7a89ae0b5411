// SPDX-License-Identifier: MIT
// Shared by the decoders of data: the file in memory, its pixel buffer, and error messages. Any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/images/decode_options.hpp"
#include "data/images/pixels.hpp"

namespace gangway::data {

/// A file of recognised format; borrows its bytes during a call.
struct EncodedImage {
  std::span<const std::uint8_t> bytes;
  const std::string& name;
  const DecodeOptions& options;
};

/// @throws ConfigError with the file's name, `what`, and the remedy
[[noreturn]] void fail(const EncodedImage& file, std::string_view what);

/// @throws ConfigError if the file declares no pixels, or more than allowed
void require_size(const EncodedImage& file, std::int64_t width, std::int64_t height);

}  // namespace gangway::data
