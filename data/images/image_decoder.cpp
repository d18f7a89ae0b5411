// SPDX-License-Identifier: MIT
#include "data/images/image_decoder.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "data/images/decoders.hpp"
#include "data/images/encoded_image.hpp"

namespace gangway::data {
namespace {

using std::string_view_literals::operator""sv;

/// First bytes of file formats. A WebP file is a RIFF file, which starts with its length; an AVIF
/// or HEIC file starts with the length of its `ftyp` box.
struct Kind {
  std::string_view name;
  std::string_view magic;
  std::size_t at = 0;
};

constexpr Kind kPng{"PNG", "\x89PNG\r\n\x1A\n"sv};
constexpr Kind kJpeg{"JPEG", "\xFF\xD8\xFF"sv};
constexpr Kind kWebp{"WebP", "WEBP"sv, 8};
constexpr std::array<Kind, 7> kOthers{{{"GIF", "GIF8"sv},
                                       {"BMP", "BM"sv},
                                       {"TIFF", "II*\0"sv},
                                       {"TIFF", "MM\0*"sv},
                                       {"HEIC or AVIF", "ftyp"sv, 4},
                                       {"SVG or HTML", "<"sv},
                                       {"PDF", "%PDF"sv}}};

bool is_of(const EncodedImage& file, const Kind& kind) {
  return file.bytes.size() >= kind.at + kind.magic.size() &&
         std::equal(kind.magic.begin(), kind.magic.end(),
                    file.bytes.begin() + static_cast<std::ptrdiff_t>(kind.at),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

[[noreturn]] void refuse(const EncodedImage& file) {
  if (file.bytes.empty()) {
    fail(file, "empty file");
  }
  const auto kind = std::find_if(kOthers.begin(), kOthers.end(),
                                 [&](const Kind& other) { return is_of(file, other); });
  fail(file, kind == kOthers.end()
                 ? "neither a PNG, JPEG nor WebP file (wrong magic)"
                 : fmt::format("neither a PNG, JPEG nor WebP file but {} by its first bytes",
                               kind->name));
}

}  // namespace

Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name,
                    const DecodeOptions& options) {
  const EncodedImage file{.bytes = bytes, .name = name, .options = options};
  if (is_of(file, kPng)) {
    return decode_png(file);
  }
  if (is_of(file, kJpeg)) {
    return decode_jpeg(file);
  }
  if (is_of(file, kWebp)) {
    return decode_webp(file);
  }
  refuse(file);
}

}  // namespace gangway::data
