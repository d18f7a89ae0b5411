// SPDX-License-Identifier: MIT
#include "gan/pictures/captions.hpp"

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::pictures {
namespace {

/// Two black images of 8 x 8 pixels.
struct Two {
  std::vector<float> values = std::vector<float>(2 * 8 * 8, -1.0F);
  ImageBatch images{.pixels = values, .count = 2, .channels = 1, .height = 8, .width = 8};
};

/// '#' is black.
std::string drawn(const Raster& raster, int top, int left, int height, int width) {
  std::string text;
  for (int row = top; row < top + height; ++row) {
    for (int column = left; column < left + width; ++column) {
      text += raster.pixels[static_cast<std::size_t>(row * raster.width + column)] == 0 ? '#' : '.';
    }
    text += '\n';
  }
  return text;
}

TEST(Captions, AreWrittenBelowEachPicture) {
  const Two two;
  const std::vector<std::string> captions{"1", "7"};
  const Raster raster = arrange_captioned(two.images, 2, captions);
  EXPECT_EQ(raster.width, 16);
  EXPECT_EQ(raster.height, 8 + 7);
  EXPECT_EQ(drawn(raster, 0, 0, 1, 16), "################\n") << "the pictures";
  EXPECT_EQ(drawn(raster, 8, 0, 7, 16),
            "................\n"
            "..#......###....\n"
            ".##........#....\n"
            "..#........#....\n"
            "..#........#....\n"
            ".###.......#....\n"
            "................\n");
}

TEST(Captions, WidenCellsWhereTheyAreLong) {
  const Two two;
  const std::vector<std::string> captions{"18446744073709551615:9", "0:1"};
  const Raster raster = arrange_captioned(two.images, 1, captions);
  EXPECT_EQ(raster.width, 22 * 4 + 1);
  EXPECT_EQ(raster.height, 2 * (8 + 7));
}

TEST(Captions, AreOneAPicture) {
  const Two two;
  const std::vector<std::string> one{"1"};
  EXPECT_THROW((void)arrange_captioned(two.images, 2, one), InvariantError);
}

}  // namespace
}  // namespace gangway::pictures
