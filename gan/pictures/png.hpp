// SPDX-License-Identifier: MIT
// Grids of images and scatter plots, as PNG files. Called by the worker that writes reals.png and
// fakesNNNNNN.png, by `gangway sample` and `evaluate`. No LibTorch. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gangway::pictures {

/// Borrowed images, [count, channels, height, width] row-major, values in [-1, 1] (others are
/// clamped, NaN is black).
struct ImageBatch {
  std::span<const float> pixels;
  int count = 0;
  int channels = 1;  ///< 1 or 3
  int height = 0;
  int width = 0;
};

/// Red, green, blue.
using Color = std::array<std::uint8_t, 3>;

inline constexpr Color kGray{170, 170, 170};
inline constexpr Color kBlue{31, 119, 180};

/// Borrowed points drawn in one colour, [count, 2] row-major (x, y).
struct ScatterLayer {
  std::span<const float> points;
  Color color = kBlue;
};

/// 8-bit pixels, row-major, channels interleaved.
struct Raster {
  int height = 0;
  int width = 0;
  int channels = 1;  ///< 1 or 3
  std::vector<std::uint8_t> pixels;

  /// Returns the index of a pixel's first channel.
  [[nodiscard]] std::size_t offset(int row, int column) const {
    return (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
            static_cast<std::size_t>(column)) *
           static_cast<std::size_t>(channels);
  }
};

/// Returns a raster whose pixels all have `value` in all channels.
[[nodiscard]] Raster make_raster(int height, int width, int channels, std::uint8_t value);

/// Arranges the images row by row, without gaps; the last row is filled up with black. @pre columns
/// >= 1
[[nodiscard]] Raster arrange_grid(const ImageBatch& images, int columns);

/// Draws a square plot of side pixels over [-extent, extent] in both axes on white. Later layers
/// cover earlier ones.
[[nodiscard]] Raster draw_scatter(std::span<const ScatterLayer> layers, float extent, int side);

/// Returns the bytes of a PNG file. @throws EnvironmentError if libpng fails
[[nodiscard]] std::string encode_png(const Raster& raster);

/// Writes a PNG file atomically (write, rename): a reader sees the old or the new file.
/// @throws EnvironmentError naming the path if it cannot be written
void write_png(const std::filesystem::path& path, const Raster& raster);

/// Calls arrange_grid and write_png.
void write_png_grid(const std::filesystem::path& path, const ImageBatch& images, int columns);

/// Calls draw_scatter with 512 pixels a side over [-2.2, 2.2] (toy:ring8 and toy:grid25 fit), and
/// write_png.
void write_png_scatter(const std::filesystem::path& path, std::span<const ScatterLayer> layers);

}  // namespace gangway::pictures
