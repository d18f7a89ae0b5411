// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <turbojpeg.h>

#include "base/errors.hpp"
#include "data/images/decoders.hpp"
#include "data/images/exif.hpp"

namespace gangway::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr int kFlags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;

struct DestroyJpeg {
  void operator()(void* handle) const noexcept { (void)tjDestroy(handle); }
};
using Decoder = std::unique_ptr<std::remove_pointer_t<tjhandle>, DestroyJpeg>;

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin());
}

/// Returns the orientation in the first Exif segment before the first scan (ITU-T T.81, B.1.1.4),
/// because turbojpeg does not report it.
int orientation_of(std::span<const std::uint8_t> bytes) {
  constexpr std::uint8_t kExif = 0xE1;
  constexpr std::uint8_t kScan = 0xDA;
  constexpr auto kExifName = "Exif\0\0"sv;
  for (std::size_t at = 2; at + 4 <= bytes.size() && bytes[at] == 0xFF && bytes[at + 1] != kScan;) {
    if (bytes[at + 1] == 0xFF) {  // padding
      ++at;
      continue;
    }
    const std::size_t length = std::size_t{bytes[at + 2]} << 8U | bytes[at + 3];  // includes itself
    if (length < 2 || length > bytes.size() - at - 2) {
      break;
    }
    const std::span<const std::uint8_t> content = bytes.subspan(at + 4, length - 2);
    if (bytes[at + 1] == kExif && begins_with(content, kExifName)) {
      return exif_orientation(content.subspan(kExifName.size()));
    }
    at += 2 + length;
  }
  return 1;
}

struct Header {
  int width = 0;
  int height = 0;
  int colorspace = -1;
};

[[noreturn]] void fail_decoding(const EncodedImage& file, std::string_view message) {
  const bool is_another_kind = message.find("nsupported") != std::string_view::npos;
  fail(file,
       fmt::format("{} JPEG ({})", is_another_kind ? "an uncommon kind of" : "damaged or truncated",
                   message));
}

Header read_header(const EncodedImage& file, tjhandle decoder) {
  Header header;
  int subsampling = 0;
  const auto size = static_cast<unsigned long>(
      file.bytes.size());  // NOLINT(google-runtime-int): turbojpeg's type
  const int done = tjDecompressHeader3(decoder, file.bytes.data(), size, &header.width,
                                       &header.height, &subsampling, &header.colorspace);
  // turbojpeg reports an unnamed subsampling as an error, but decodes it.
  const bool is_only_unnamed =
      subsampling < 0 && header.width > 0 && header.height > 0 && header.colorspace >= 0;
  if (done != 0 && !is_only_unnamed) {
    fail_decoding(file, tjGetErrorStr2(decoder));
  }
  if (header.width == 0) {  // tables without an image are no error to turbojpeg
    fail_decoding(file, "no image in it");
  }
  require_size(file, header.width, header.height);
  return header;
}

/// Returns the largest reduction, as turbojpeg's factor, that leaves kSpareScale times the wanted
/// side and no remainder. A pixel that covers fewer source pixels would stretch the image.
tjscalingfactor reduction(const Header& header, int wanted_side) {
  for (const int denominator : {8, 4, 2}) {
    const bool divides = header.width % denominator == 0 && header.height % denominator == 0;
    if (wanted_side > 0 && divides &&
        std::min(header.width, header.height) / denominator >= kSpareScale * wanted_side) {
      return {.num = 1, .denom = denominator};
    }
  }
  return {.num = 1, .denom = 1};
}

/// Converts CMYK to RGB in place, as light that passes the inks one after another. 255 means no
/// ink: Adobe's programs write it so, against the standard, and readers assume it (Pillow, Skia).
void mix_inks(Pixels& image) {
  const std::size_t count = image.values.size() / 4;
  for (std::size_t pixel = 0; pixel < count; ++pixel) {
    const std::uint8_t* inks = image.values.data() + 4 * pixel;
    const unsigned black = inks[3];
    const std::array<unsigned, 3> colors{inks[0], inks[1], inks[2]};
    for (std::size_t color = 0; color < 3; ++color) {
      image.values[3 * pixel + color] =
          static_cast<std::uint8_t>((colors[color] * black + 127) / 255);
    }
  }
  image.channels = 3;
  image.values.resize(3 * count);
}

}  // namespace

Pixels decode_jpeg(const EncodedImage& file) {
  const Decoder decoder(tjInitDecompress());
  if (!decoder) {
    throw EnvironmentError(
        fmt::format("{}: turbojpeg cannot start: {}", file.name, tjGetErrorStr2(nullptr)));
  }
  const Header header = read_header(file, decoder.get());
  const bool is_gray = header.colorspace == TJCS_GRAY;
  const bool has_inks = header.colorspace == TJCS_CMYK || header.colorspace == TJCS_YCCK;
  // Mixing inks is a product, so the mean of mixtures is not the mixture of means.
  const tjscalingfactor scale = reduction(header, has_inks ? 0 : file.options.wanted_side);
  const int format = is_gray ? TJPF_GRAY : has_inks ? TJPF_CMYK : TJPF_RGB;
  Pixels result = make_pixels(TJSCALED(header.height, scale), TJSCALED(header.width, scale),
                              tjPixelSize[format]);
  const auto size = static_cast<unsigned long>(
      file.bytes.size());  // NOLINT(google-runtime-int): turbojpeg's type
  const int done = tjDecompress2(decoder.get(), file.bytes.data(), size, result.values.data(),
                                 result.width, 0, result.height, format, kFlags);
  // turbojpeg only warns of harmless camera oddities, but also of a missing end, which it fills
  // with gray.
  const std::string message = done == 0 ? "" : tjGetErrorStr2(decoder.get());
  if (done != 0 && (tjGetErrorCode(decoder.get()) == TJERR_FATAL ||
                    message.find("remature end") != std::string::npos)) {
    fail_decoding(file, message);
  }
  if (has_inks) {
    mix_inks(result);
  }
  return turn_upright(std::move(result), orientation_of(file.bytes));
}

}  // namespace gangway::data
