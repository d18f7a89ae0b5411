// SPDX-License-Identifier: MIT
#include "gan/pictures/png.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <png.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::pictures {
namespace {

using gangway::testing::ScratchFolder;

Raster decode(const std::string& bytes, int channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0)
      << image.message;
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Raster raster{.height = static_cast<int>(image.height),
                .width = static_cast<int>(image.width),
                .channels = channels,
                .pixels = {}};
  raster.pixels.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, raster.pixels.data(), 0, nullptr), 0)
      << image.message;
  return raster;
}

TEST(ArrangeGrid, FillsRowsAndLeavesTheRestBlack) {
  const std::vector<float> pixels{-1, 1, 0, 1, 1, 0};  // three images of 1 x 2
  const Raster grid =
      arrange_grid({.pixels = pixels, .count = 3, .channels = 1, .height = 1, .width = 2}, 2);
  EXPECT_EQ(grid.height, 2);
  EXPECT_EQ(grid.width, 4);
  EXPECT_EQ(grid.pixels, (std::vector<std::uint8_t>{0, 255, 128, 255, 255, 128, 0, 0}));
}

TEST(ArrangeGrid, InterleavesChannels) {
  const std::vector<float> pixels{1, -1, -1, 1, 0, 0};  // [3, 1, 2]
  const Raster grid =
      arrange_grid({.pixels = pixels, .count = 1, .channels = 3, .height = 1, .width = 2}, 1);
  EXPECT_EQ(grid.pixels, (std::vector<std::uint8_t>{255, 0, 128, 0, 255, 128}));
}

TEST(ArrangeGrid, ClampsWhatIsOutsideAndDrawsNanBlack) {
  const std::vector<float> pixels{-3, 7, std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity()};
  const Raster grid =
      arrange_grid({.pixels = pixels, .count = 4, .channels = 1, .height = 1, .width = 1}, 4);
  EXPECT_EQ(grid.pixels, (std::vector<std::uint8_t>{0, 255, 0, 255}));
}

TEST(ArrangeGrid, UndoesTheScalingOfTheData) {
  std::vector<float> pixels;
  std::vector<std::uint8_t> expected;
  for (int value = 0; value < 256; ++value) {
    pixels.push_back(static_cast<float>(value) / 127.5F - 1.0F);
    expected.push_back(static_cast<std::uint8_t>(value));
  }
  EXPECT_EQ(
      arrange_grid({.pixels = pixels, .count = 1, .channels = 1, .height = 16, .width = 16}, 1)
          .pixels,
      expected);
}

TEST(ArrangeGrid, RefusesSizesThatDisagree) {
  const std::vector<float> pixels(5);
  EXPECT_THROW(
      (void)arrange_grid({.pixels = pixels, .count = 1, .channels = 1, .height = 2, .width = 2}, 1),
      InvariantError);
  EXPECT_THROW(
      (void)arrange_grid({.pixels = pixels, .count = 5, .channels = 1, .height = 1, .width = 1}, 0),
      InvariantError);
}

TEST(EncodePng, IsReadBackByLibpng) {
  for (const int channels : {1, 3}) {
    Raster raster{.height = 3, .width = 5, .channels = channels, .pixels = {}};
    for (int i = 0; i < 15 * channels; ++i) {
      raster.pixels.push_back(static_cast<std::uint8_t>(5 * i));
    }
    EXPECT_EQ(decode(encode_png(raster), channels).pixels, raster.pixels);
  }
}

TEST(WritePng, ReplacesTheOldFileWhole) {
  const ScratchFolder folder;
  const auto path = folder.write("fakes.png", "old");
  const std::vector<float> pixels(4, 0.0F);
  write_png_grid(path, {.pixels = pixels, .count = 1, .channels = 1, .height = 2, .width = 2}, 1);
  EXPECT_EQ(decode(folder.read("fakes.png"), 1).pixels, std::vector<std::uint8_t>(4, 128));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(WritePng, NamesAPathThatCannotBeWritten) {
  try {
    write_png("/nowhere/fakes.png", {.height = 1, .width = 1, .channels = 1, .pixels = {0}});
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/fakes.png: cannot be written"),
              std::string::npos);
  }
}

TEST(Scatter, DrawsPointsWhereTheyAreAndSkipsTheRest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> points{0, 0, 0.9F, 0.9F, 5, 5, nan, nan};
  const ScatterLayer layer{.points = points, .color = kBlue};
  const Raster plot = draw_scatter(std::span(&layer, 1), 1.0F, 100);
  const auto at = [&](std::size_t row, std::size_t column) {
    const std::uint8_t* pixel = &plot.pixels[(row * 100 + column) * 3];
    return Color{pixel[0], pixel[1], pixel[2]};
  };
  const Color white{255, 255, 255};
  EXPECT_EQ(at(50, 50), kBlue);
  EXPECT_EQ(at(5, 95), kBlue);
  EXPECT_EQ(at(30, 30), white);
  EXPECT_EQ(std::count(plot.pixels.begin(), plot.pixels.end(), kBlue[0]),
            8);  // two dots of four pixels
  const ScratchFolder folder;
  write_png_scatter(folder.path() / "points.png", std::span(&layer, 1));
  EXPECT_EQ(decode(folder.read("points.png"), 3).width, 512);
}

}  // namespace
}  // namespace gangway::pictures
