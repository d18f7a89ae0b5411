// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <webp/decode.h>

#include "data/images/decoders.hpp"
#include "data/images/exif.hpp"

namespace gangway::data {
namespace {

// A RIFF chunk has a name, a length of four bytes, and the data padded to an even number of bytes
// (WebP Container Specification, "RIFF File Format").
constexpr std::size_t kChunkHead = 8;
constexpr std::size_t kFileHead = 12;  // "RIFF", the length, "WEBP"

std::size_t little_endian(std::span<const std::uint8_t> bytes) {
  return std::size_t{bytes[0]} | std::size_t{bytes[1]} << 8U | std::size_t{bytes[2]} << 16U |
         std::size_t{bytes[3]} << 24U;
}

bool has_name(std::span<const std::uint8_t> chunk, std::string_view name) {
  return std::string_view(reinterpret_cast<const char*>(chunk.data()), name.size()) == name;
}

/// Returns the orientation in the Exif chunk. @pre the file has its declared length
int orientation_of(const EncodedImage& file) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);  // of JPEG; some writers leave it there
  for (std::size_t at = kFileHead; at + kChunkHead <= file.bytes.size();) {
    const auto chunk = file.bytes.subspan(at);
    const std::size_t length = little_endian(chunk.subspan(4));
    if (length > chunk.size() - kChunkHead) {
      break;
    }
    if (has_name(chunk, "EXIF")) {
      auto content = chunk.subspan(kChunkHead, length);
      if (length >= kPrefix.size() && has_name(content, kPrefix)) {
        content = content.subspan(kPrefix.size());
      }
      return exif_orientation(content);
    }
    at += kChunkHead + length + length % 2;
  }
  return 1;
}

[[noreturn]] void fail_damaged_webp(const EncodedImage& file) {
  fail(file, "damaged or truncated WebP");
}

}  // namespace

Pixels decode_webp(const EncodedImage& file) {
  WebPBitstreamFeatures features{};
  // The picture must lie within the declared length of the file.
  if (file.bytes.size() < kFileHead + kChunkHead ||
      little_endian(file.bytes.subspan(4)) > file.bytes.size() - kChunkHead ||
      WebPGetFeatures(file.bytes.data(), file.bytes.size(), &features) != VP8_STATUS_OK) {
    fail_damaged_webp(file);
  }
  if (features.has_animation != 0) {
    fail(file, "an animated WebP, which is several pictures");
  }
  require_size(file, features.width, features.height);
  Pixels result = make_pixels(features.height, features.width, features.has_alpha != 0 ? 4 : 3);
  const int stride = result.width * result.channels;
  const auto decode = features.has_alpha != 0 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(file.bytes.data(), file.bytes.size(), result.values.data(), result.values.size(),
             stride) == nullptr) {
    fail_damaged_webp(file);
  }
  lay_over_white(result);
  return turn_upright(std::move(result), orientation_of(file));
}

}  // namespace gangway::data
