// SPDX-License-Identifier: MIT
#include "data/images/resample.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::data {
namespace {

using ::testing::Each;

Pixels noise(int height, int width, int channels) {
  std::mt19937 random(7);
  Pixels image = make_pixels(height, width, channels);
  std::generate(image.values.begin(), image.values.end(),
                [&] { return static_cast<std::uint8_t>(random() >> 24U); });
  return image;
}

TEST(FitSquare, CutsOutTheMiddleOfWhatHasTheRightSide) {
  const Pixels image{
      .height = 2, .width = 5, .channels = 1, .values = {9, 0, 1, 9, 9, 9, 2, 3, 9, 9}};
  EXPECT_EQ(fit_square(image, 2).values, (std::vector<std::uint8_t>{0, 1, 2, 3}));
}

TEST(FitSquare, AveragesWhatItShrinks) {
  Pixels stripes = make_pixels(96, 96, 1);
  for (std::size_t i = 0; i < stripes.values.size(); ++i) {
    stripes.values[i] = i % 2 == 0 ? 240 : 0;  // columns would be black without a filter
  }
  for (const std::uint8_t value : fit_square(stripes, 20).values) {
    EXPECT_NEAR(value, 120, 12);
  }
}

TEST(FitSquare, TreatsChannelsAlike) {
  const Pixels gray = noise(61, 75, 1);
  Pixels color = make_pixels(61, 75, 3);
  for (std::size_t i = 0; i < color.values.size(); ++i) {
    color.values[i] = gray.values[i / 3];
  }
  const Pixels small = fit_square(gray, 32);
  const Pixels result = fit_square(color, 32);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    ASSERT_EQ(result.values[i], small.values[i / 3]) << i;
  }
}

TEST(FitSquare, TakesASinglePixel) {
  EXPECT_THAT(fit_square({.height = 1, .width = 1, .channels = 1, .values = {77}}, 64).values,
              Each(77));
  EXPECT_THAT(fit_square({.height = 300,
                          .width = 200,
                          .channels = 1,
                          .values = std::vector<std::uint8_t>(60000, 77)},
                         1)
                  .values,
              Each(77));
}

/// The longer side is cropped, so only the shorter side matters.
TEST(FitSquare, KeepsAFlatPictureFlatAndARampRisingFromAnySideToAnySide) {
  for (int size = 1; size <= 300; size += 7) {
    Pixels ramp = make_pixels(size, size, 1);
    for (std::size_t i = 0; i < ramp.values.size(); ++i) {
      ramp.values[i] = static_cast<std::uint8_t>(255 * (i % static_cast<std::size_t>(size)) /
                                                 static_cast<std::size_t>(size));
    }
    Pixels flat = make_pixels(size, size, 1);
    std::ranges::fill(flat.values, std::uint8_t{201});
    for (const int side : {32, 64, 128}) {
      ASSERT_THAT(fit_square(flat, side).values, Each(201)) << size << " to " << side;
      const Pixels shown = fit_square(ramp, side);
      for (std::size_t i = 1; i < static_cast<std::size_t>(side); ++i) {
        ASSERT_GE(shown.values[i] + 1, shown.values[i - 1]) << size << " to " << side;
      }
    }
  }
}

/// Other bits on another processor or compiler would change trained weights.
TEST(FitSquare, HasTheBitsThatItHadOnAnyProcessor) {
  std::vector<std::uint64_t> sums;
  for (const int side : {1, 9, 31, 33, 64, 65, 90, 300, 1000}) {
    const Pixels result = fit_square(noise(side, side, 3), 64);
    sums.push_back(
        std::accumulate(result.values.begin(), result.values.end(), std::uint64_t{0},
                        [](std::uint64_t sum, std::uint8_t value) { return sum * 31 + value; }));
  }
  EXPECT_EQ(sums, (std::vector<std::uint64_t>{
                      3460726321827545088U, 6447636124822182043U, 5123469940915406790U,
                      2202544659831359157U, 17631714349784815310U, 11431750437905968703U,
                      13922914801806180245U, 1390877118929930142U, 17624254175954939123U}));
}

}  // namespace
}  // namespace gangway::data
