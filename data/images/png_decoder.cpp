// SPDX-License-Identifier: MIT
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <spng.h>

#include "data/images/decoders.hpp"
#include "data/images/exif.hpp"

namespace gangway::data {
namespace {

/// Maximum bytes of a file's chunks beside its pixels (profiles, text): one chunk, and all of them.
constexpr std::size_t kLargestChunk = std::size_t{32} << 20;
constexpr std::size_t kMostInChunks = std::size_t{64} << 20;

struct FreeContext {
  void operator()(spng_ctx* context) const noexcept { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

void check(const EncodedImage& file, int error) {
  if (error != 0) {
    fail(file, fmt::format("damaged or truncated PNG ({})", spng_strerror(error)));
  }
}

Context open(const EncodedImage& file) {
  Context context(spng_ctx_new(0));
  if (!context) {
    throw std::bad_alloc();
  }
  check(file, spng_set_chunk_limits(context.get(), kLargestChunk, kMostInChunks));
  check(file, spng_set_png_buffer(context.get(), file.bytes.data(), file.bytes.size()));
  return context;
}

/// Output format of spng. It offers gray only up to 8 bits, and no gray with opacity.
struct Layout {
  int format;
  int channels;
};

Layout layout_of(spng_ctx* context, const spng_ihdr& header) {
  spng_trns transparent{};
  const bool has_opacity = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                           header.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA ||
                           spng_get_trns(context, &transparent) == 0;
  if (has_opacity) {
    return {.format = SPNG_FMT_RGBA8, .channels = 4};
  }
  const bool is_plain_gray =
      header.color_type == SPNG_COLOR_TYPE_GRAYSCALE && header.bit_depth <= 8;
  return is_plain_gray ? Layout{.format = SPNG_FMT_G8, .channels = 1}
                       : Layout{.format = SPNG_FMT_RGB8, .channels = 3};
}

/// Reduces three equal channels to one, in place.
void keep_one_channel(Pixels& image) {
  const std::size_t count = image.values.size() / 3;
  for (std::size_t pixel = 0; pixel < count; ++pixel) {
    image.values[pixel] = image.values[3 * pixel];
  }
  image.channels = 1;
  image.values.resize(count);
}

int orientation_of(const EncodedImage& file, spng_ctx* context) {
  check(file, spng_decode_chunks(context));  // chunks after the pixels
  spng_exif exif{};
  if (spng_get_exif(context, &exif) != 0) {
    return 1;
  }
  return exif_orientation({reinterpret_cast<const std::uint8_t*>(exif.data), exif.length});
}

}  // namespace

Pixels decode_png(const EncodedImage& file) {
  const Context context = open(file);
  spng_ihdr header{};
  check(file, spng_get_ihdr(context.get(), &header));
  require_size(file, header.width, header.height);
  const Layout layout = layout_of(context.get(), header);
  Pixels result =
      make_pixels(static_cast<int>(header.height), static_cast<int>(header.width), layout.channels);
  check(file, spng_decode_image(context.get(), result.values.data(), result.values.size(),
                                layout.format, SPNG_DECODE_TRNS));
  lay_over_white(result);
  const bool is_gray = header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
                       header.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  if (is_gray && result.channels == 3) {
    keep_one_channel(result);
  }
  return turn_upright(std::move(result), orientation_of(file, context.get()));
}

}  // namespace gangway::data
