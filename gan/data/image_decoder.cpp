// SPDX-License-Identifier: MIT
// decode_image of gan/data/pixels.hpp: the only file that sees libpng and turbojpeg on the reading side.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include "gan/data/pixels.hpp"
#include "job/errors.hpp"

namespace gangway::data {
namespace {

/// A bound on memory (768 MiB in RGB), well above any camera.
constexpr std::int64_t kLargestImage = std::int64_t{1} << 28;

[[noreturn]] void fail(const std::string& name, std::string_view what) {
  throw ConfigError(fmt::format("{}: {}; replace or remove the file", name, what));
}

Pixels make_pixels(std::int64_t height, std::int64_t width, int channels, const std::string& name) {
  if (height > kLargestImage / width) {
    fail(name, fmt::format("{} x {} pixels are more than can be read (2^28)", width, height));
  }
  Pixels result{.height = static_cast<int>(height), .width = static_cast<int>(width), .channels = channels, .values = {}};
  result.values.resize(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                       static_cast<std::size_t>(channels));
  return result;
}

struct FreePng {
  void operator()(png_image* image) const noexcept { png_image_free(image); }
};

Pixels decode_png(std::span<const std::uint8_t> bytes, const std::string& name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, FreePng> release(&image);
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) {
    fail(name, fmt::format("damaged or truncated PNG ({})", image.message));
  }
  const bool is_gray = (image.format & PNG_FORMAT_FLAG_COLOR) == 0;
  image.format = is_gray ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Pixels result = make_pixels(image.height, image.width, is_gray ? 1 : 3, name);
  const png_color white{255, 255, 255};
  if (png_image_finish_read(&image, &white, result.values.data(), 0, nullptr) == 0) {
    fail(name, fmt::format("damaged or truncated PNG ({})", image.message));
  }
  return result;
}

struct DestroyJpeg {
  void operator()(void* handle) const noexcept { (void)tjDestroy(handle); }
};

Pixels decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& name) {
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, DestroyJpeg> decoder(tjInitDecompress());
  if (!decoder) {
    throw EnvironmentError(fmt::format("{}: turbojpeg cannot start: {}", name, tjGetErrorStr2(nullptr)));
  }
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colorspace = 0;
  const auto size = static_cast<unsigned long>(bytes.size());  // NOLINT(google-runtime-int): turbojpeg's type
  if (tjDecompressHeader3(decoder.get(), bytes.data(), size, &width, &height, &subsampling, &colorspace) != 0 ||
      width < 1 || height < 1) {
    fail(name, fmt::format("damaged or truncated JPEG ({})", tjGetErrorStr2(decoder.get())));
  }
  const bool is_gray = colorspace == TJCS_GRAY;
  Pixels result = make_pixels(height, width, is_gray ? 1 : 3, name);
  const int done = tjDecompress2(decoder.get(), bytes.data(), size, result.values.data(), width, 0, height,
                                 is_gray ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
  if (done == 0) {
    return result;
  }
  // Cameras write harmless oddities that turbojpeg warns of; a missing end it only warns of, too, and fills up in gray.
  const std::string message = tjGetErrorStr2(decoder.get());
  if (tjGetErrorCode(decoder.get()) == TJERR_FATAL || message.find("remature end") != std::string::npos) {
    fail(name, fmt::format("damaged or truncated JPEG ({})", message));
  }
  return result;
}

bool starts_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

}  // namespace

Pixels decode_image(std::span<const std::uint8_t> bytes, const std::string& name) {
  constexpr std::array<std::uint8_t, 8> kPngMagic{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  constexpr std::array<std::uint8_t, 3> kJpegMagic{0xFF, 0xD8, 0xFF};
  if (starts_with(bytes, kPngMagic)) {
    return decode_png(bytes, name);
  }
  if (starts_with(bytes, kJpegMagic)) {
    return decode_jpeg(bytes, name);
  }
  fail(name, bytes.empty() ? "empty file" : "neither a PNG nor a JPEG file (wrong magic)");
}

}  // namespace gangway::data
