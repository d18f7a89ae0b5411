// SPDX-License-Identifier: MIT
#include "gan/pictures/png.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <png.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"

namespace gangway::pictures {
namespace {

namespace fs = std::filesystem;

constexpr int kScatterSide = 512;
constexpr float kScatterExtent = 2.2F;

std::uint8_t to_byte(float value) {
  const float scaled = (value + 1.0F) * 127.5F + 0.5F;
  return scaled >= 0.0F ? static_cast<std::uint8_t>(std::min(scaled, 255.0F))
                        : std::uint8_t{0};  // NaN: 0
}

void copy_image(const ImageBatch& images, int index, Raster& raster, int top, int left) {
  const auto plane =
      static_cast<std::size_t>(images.height) * static_cast<std::size_t>(images.width);
  const float* first = images.pixels.data() + static_cast<std::size_t>(index) * plane *
                                                  static_cast<std::size_t>(images.channels);
  for (int row = 0; row < images.height; ++row) {
    for (int column = 0; column < images.width; ++column) {
      const float* source = first + std::ptrdiff_t{row} * images.width + column;
      std::uint8_t* target = raster.pixels.data() + raster.offset(top + row, left + column);
      for (int channel = 0; channel < images.channels; ++channel) {
        target[channel] = to_byte(source[static_cast<std::size_t>(channel) * plane]);
      }
    }
  }
}

/// Draws a dot of 2 x 2 pixels with its upper left corner at (row, column), clipped to the picture.
void draw_dot(Raster& raster, int row, int column, const Color& color) {
  for (int y = row; y < row + 2; ++y) {
    for (int x = column; x < column + 2; ++x) {
      if (y >= 0 && y < raster.height && x >= 0 && x < raster.width) {
        std::ranges::copy(color, raster.pixels.data() + raster.offset(y, x));
      }
    }
  }
}

}  // namespace

Raster make_raster(int height, int width, int channels, std::uint8_t value) {
  Raster raster{.height = height, .width = width, .channels = channels, .pixels = {}};
  raster.pixels.assign(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) *
                           static_cast<std::size_t>(channels),
                       value);
  return raster;
}

Raster arrange_grid(const ImageBatch& images, int columns) {
  const std::size_t wanted =
      static_cast<std::size_t>(images.count) * static_cast<std::size_t>(images.channels) *
      static_cast<std::size_t>(images.height) * static_cast<std::size_t>(images.width);
  if (columns < 1 || images.count < 1 || images.pixels.size() != wanted ||
      (images.channels != 1 && images.channels != 3)) {
    throw InvariantError(fmt::format(
        "grid of {} columns from {} images of {} x {} x {} with {} values", columns, images.count,
        images.channels, images.height, images.width, images.pixels.size()));
  }
  const int rows = (images.count + columns - 1) / columns;
  Raster raster = make_raster(rows * images.height, columns * images.width, images.channels, 0);
  for (int i = 0; i < images.count; ++i) {
    copy_image(images, i, raster, i / columns * images.height, i % columns * images.width);
  }
  return raster;
}

Raster draw_scatter(std::span<const ScatterLayer> layers, float extent, int side) {
  Raster raster = make_raster(side, side, 3, 255);
  const auto pixels = static_cast<float>(side);
  for (const ScatterLayer& layer : layers) {
    for (std::size_t i = 0; i + 1 < layer.points.size(); i += 2) {
      const float x = (layer.points[i] / extent + 1.0F) * 0.5F * pixels;
      const float y =
          (1.0F - layer.points[i + 1] / extent) * 0.5F * pixels;  // the y axis points up
      if (x >= 0.0F && x < pixels && y >= 0.0F && y < pixels) {   // false for NaN
        draw_dot(raster, static_cast<int>(y), static_cast<int>(x), layer.color);
      }
    }
  }
  return raster;
}

std::string encode_png(const Raster& raster) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(raster.width);
  image.height = static_cast<png_uint_32>(raster.height);
  image.format = raster.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, raster.pixels.data(), 0, nullptr) ==
      0) {
    throw EnvironmentError(
        fmt::format("PNG of {} x {} pixels: {}", raster.width, raster.height, image.message));
  }
  bytes.resize(size);
  return bytes;
}

void write_png(const fs::path& path, const Raster& raster) {
  AtomicFile file(path);
  file.write(encode_png(raster));
  file.put_in_place();  // a sync takes longer than most pictures
}

void write_png_grid(const fs::path& path, const ImageBatch& images, int columns) {
  write_png(path, arrange_grid(images, columns));
}

void write_png_scatter(const fs::path& path, std::span<const ScatterLayer> layers) {
  write_png(path, draw_scatter(layers, kScatterExtent, kScatterSide));
}

}  // namespace gangway::pictures
