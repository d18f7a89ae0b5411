// SPDX-License-Identifier: MIT
#include "data/augment/augment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::data {
namespace {

constexpr double kTolerance = 2e-6;

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  std::ranges::generate(values,
                        [&] { return static_cast<float>(random() >> 8U) * 0x1p-23F - 1.0F; });
  return values;
}

PicturePlanes planes(std::vector<float>& values, int channels, int height, int width) {
  return {.values = values, .channels = channels, .height = height, .width = width};
}

/// Keys (1981), equation 15, with a = -1/2.
double keys(double s) {
  s = std::abs(s);
  if (s < 1.0) {
    return 1.5 * s * s * s - 2.5 * s * s + 1.0;
  }
  return s < 2.0 ? -0.5 * s * s * s + 2.5 * s * s - 4.0 * s + 2.0 : 0.0;
}

/// Returns the endlessly mirrored plane at any place: a sum over all its pixels.
double plane_at(const float* plane, int height, int width, double y, double x) {
  const auto reflect = [](int at, int size) {
    while (at < 0 || at >= size) {
      at = at < 0 ? -1 - at : 2 * size - 1 - at;
    }
    return at;
  };
  double sum = 0.0;
  for (int row = static_cast<int>(std::floor(y)) - 3; row <= y + 3.0; ++row) {
    for (int column = static_cast<int>(std::floor(x)) - 3; column <= x + 3.0; ++column) {
      sum += keys(y - row) * keys(x - column) *
             plane[reflect(row, height) * width + reflect(column, width)];
    }
  }
  return std::clamp(sum, -1.0, 1.0);
}

TEST(MovePixels, TakesThemFromWhereTheMapSays) {
  constexpr int kHeight = 9;
  constexpr int kWidth = 12;
  const double angle = 0.4;
  const PixelMap map{.scale = 0.7,
                     .shift_x = 0.1,
                     .shift_y = -0.2,
                     .sine = std::sin(angle),
                     .cosine = std::cos(angle)};
  const std::vector<float> before = random_values(2 * kHeight * kWidth);
  std::vector<float> after = before;
  std::vector<float> scratch;
  move_pixels(map, planes(after, 2, kHeight, kWidth), scratch);
  for (int channel = 0; channel < 2; ++channel) {
    const float* plane = before.data() + channel * kHeight * kWidth;
    for (int row = 0; row < kHeight; ++row) {
      for (int column = 0; column < kWidth; ++column) {
        const double right = 0.7 * (column + 0.5 - kWidth / 2.0) + 0.1 * kWidth;
        const double down = 0.7 * (row + 0.5 - kHeight / 2.0) - 0.2 * kHeight;
        const double x = kWidth / 2.0 + std::cos(angle) * right + std::sin(angle) * down - 0.5;
        const double y = kHeight / 2.0 - std::sin(angle) * right + std::cos(angle) * down - 0.5;
        const int at = (channel * kHeight + row) * kWidth + column;
        ASSERT_NEAR(after[static_cast<std::size_t>(at)], plane_at(plane, kHeight, kWidth, y, x),
                    kTolerance)
            << channel << " " << row << " " << column;
      }
    }
  }
}

TEST(MovePixels, GivesThePictureBackWhereNothingMoves) {
  const std::vector<float> before = random_values(3 * 7 * 7);
  std::vector<float> after = before;
  std::vector<float> scratch;
  move_pixels({}, planes(after, 3, 7, 7), scratch);
  EXPECT_EQ(after, before);
}

TEST(MovePixels, TurnsClockwise) {
  std::vector<float> values{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F};
  std::vector<float> scratch;
  move_pixels({.sine = 1.0, .cosine = 0.0}, planes(values, 1, 3, 3), scratch);
  EXPECT_EQ(values, (std::vector<float>{0.7F, 0.4F, 0.1F, 0.8F, 0.5F, 0.2F, 0.9F, 0.6F, 0.3F}));
}

TEST(MovePixels, LeavesAFlatPictureFlatToItsCorners) {
  std::vector<float> values(32 * 32, 0.25F);
  std::vector<float> scratch;
  const double half = std::numbers::sqrt2 / 2.0;  // an eighth of a turn
  move_pixels({.sine = half, .cosine = half}, planes(values, 1, 32, 32), scratch);
  for (const float value : values) {
    ASSERT_NEAR(value, 0.25, kTolerance);
  }
}

/// Other bits on another processor or compiler would change trained weights.
TEST(MovePixels, HasTheBitsThatItHadOnAnyProcessor) {
  std::vector<float> values = random_values(3 * 17 * 17);
  std::vector<float> scratch;
  const AugmentSpec spec{.crop = 0.8,
                         .zoom = 1.3,
                         .rotation = 25.0,
                         .brightness = 0.2,
                         .contrast = 0.3,
                         .saturation = 0.4};
  augment(spec, {.seed = 5, .cursor = 1234}, planes(values, 3, 17, 17), scratch);
  std::uint64_t sum = 0;
  for (const float value : values) {
    sum = sum * 31 + static_cast<std::uint64_t>(static_cast<std::int64_t>(value * 0x1p30F));
  }
  EXPECT_EQ(sum, 3437198829737337152U);
}

TEST(PixelMap, StaysWithinItsBoundsAndFillsThem) {
  const AugmentSpec spec{.crop = 0.8, .zoom = 1.25, .rotation = 30.0};
  constexpr int kSamples = 4000;
  double least_angle = 0.0;
  double largest_angle = 0.0;
  double least_zoom = 9.0;
  double largest_zoom = 0.0;
  double least_shift = 0.0;
  double largest_shift = 0.0;
  double sum_of_angles = 0.0;
  double sum_of_places = 0.0;
  for (int i = 0; i < kSamples; ++i) {
    const PixelMap map = draw_pixel_map(spec, {.seed = 3, .cursor = i});
    const double zoom = spec.crop / map.scale;
    const double angle = std::atan2(map.sine, map.cosine) * 180.0 / std::numbers::pi;
    EXPECT_NEAR(map.sine * map.sine + map.cosine * map.cosine, 1.0, 1e-12);
    for (const double shift : {map.shift_x, map.shift_y}) {
      // The shown part lies within the magnified picture, of which it is 1 / zoom.
      ASSERT_LE(std::abs(shift) + 0.5 * map.scale, 0.5 / zoom + 1e-12);
      least_shift = std::min(least_shift, shift * zoom);
      largest_shift = std::max(largest_shift, shift * zoom);
    }
    sum_of_places += map.shift_x * map.shift_y * zoom * zoom;
    least_angle = std::min(least_angle, angle);
    largest_angle = std::max(largest_angle, angle);
    sum_of_angles += angle;
    least_zoom = std::min(least_zoom, zoom);
    largest_zoom = std::max(largest_zoom, zoom);
  }
  EXPECT_GE(least_angle, -30.0 - 1e-9);
  EXPECT_LE(least_angle, -29.7);
  EXPECT_LE(largest_angle, 30.0 + 1e-9);
  EXPECT_GE(largest_angle, 29.7);
  EXPECT_NEAR(sum_of_angles / kSamples, 0.0, 1.2);  // four deviations of the mean
  EXPECT_GE(least_zoom, 1.0 - 1e-9);
  EXPECT_LE(least_zoom, 1.005);
  EXPECT_LE(largest_zoom, 1.25 + 1e-9);
  EXPECT_GE(largest_zoom, 1.245);
  EXPECT_NEAR(least_shift, -0.1, 0.001);
  EXPECT_NEAR(largest_shift, 0.1, 0.001);
  EXPECT_NEAR(sum_of_places / kSamples, 0.0, 0.0003);  // x and y are drawn independently
}

TEST(PixelMap, FollowsFromSeedAndSampleAlone) {
  const AugmentSpec spec{.rotation = 30.0};
  const auto sine = [&](std::uint64_t seed, std::int64_t cursor) {
    return draw_pixel_map(spec, {.seed = seed, .cursor = cursor}).sine;
  };
  EXPECT_EQ(sine(1, 2), sine(1, 2));
  EXPECT_NE(sine(1, 2), sine(1, 3));
  EXPECT_NE(sine(1, 2), sine(2, 2));
  // Another transformation of the picture has its own draws.
  EXPECT_EQ(
      draw_pixel_map({.crop = 0.5, .zoom = 2.0, .rotation = 30.0}, {.seed = 1, .cursor = 2}).sine,
      sine(1, 2));
}

/// Applies torchvision's adjust_brightness, adjust_contrast and adjust_saturation in this order.
std::vector<double> shaded(const std::vector<float>& picture, int channels, double brightness,
                           double contrast, double saturation) {
  std::vector<double> shades;
  for (const float value : picture) {
    shades.push_back(std::clamp((value + 1.0) / 2.0 * brightness, 0.0, 1.0));
  }
  const std::size_t plane = shades.size() / static_cast<std::size_t>(channels);
  const auto luma = [&](std::size_t i) {
    return channels == 1
               ? shades[i]
               : 0.299 * shades[i] + 0.587 * shades[plane + i] + 0.114 * shades[2 * plane + i];
  };
  double mean = 0.0;
  for (std::size_t i = 0; i < plane; ++i) {
    mean += luma(i) / static_cast<double>(plane);
  }
  for (double& shade : shades) {
    shade = std::clamp(mean + contrast * (shade - mean), 0.0, 1.0);
  }
  for (std::size_t i = 0; channels == 3 && i < plane; ++i) {
    const double gray = luma(i);
    for (std::size_t at = i; at < shades.size(); at += plane) {
      shades[at] = std::clamp(gray + saturation * (shades[at] - gray), 0.0, 1.0);
    }
  }
  for (double& shade : shades) {
    shade = 2.0 * shade - 1.0;
  }
  return shades;
}

TEST(ChangeShades, IsBrightnessThenContrastThenSaturation) {
  for (const int channels : {1, 3}) {
    const std::vector<float> before = random_values(static_cast<std::size_t>(channels) * 64);
    for (const auto& [brightness, contrast, saturation] :
         {std::array{1.3F, 0.6F, 1.7F}, std::array{0.5F, 1.9F, 0.0F}, std::array{1.0F, 1.0F, 0.5F},
          std::array{1.0F, 0.0F, 1.0F}}) {
      std::vector<float> after = before;
      change_shades({.brightness = brightness, .contrast = contrast, .saturation = saturation},
                    planes(after, channels, 8, 8));
      const std::vector<double> expected =
          shaded(before, channels, static_cast<double>(brightness), static_cast<double>(contrast),
                 static_cast<double>(saturation));
      for (std::size_t i = 0; i < after.size(); ++i) {
        ASSERT_NEAR(after[i], expected[i], kTolerance) << channels << " " << i;
      }
    }
  }
}

TEST(ShadeFactors, StayWithinTheirBoundsAndFillThem) {
  const AugmentSpec spec{.brightness = 0.1, .contrast = 0.4};
  float least = 9.0F;
  float largest = 0.0F;
  for (int i = 0; i < 2000; ++i) {
    const ShadeFactors factors = draw_shade_factors(spec, {.seed = 1, .cursor = i}, 0);
    EXPECT_GE(factors.brightness, 0.9F);
    EXPECT_LE(factors.brightness, 1.1F);
    EXPECT_EQ(factors.saturation, 1.0F);
    least = std::min(least, factors.contrast);
    largest = std::max(largest, factors.contrast);
  }
  EXPECT_NEAR(least, 0.6, 0.005);
  EXPECT_NEAR(largest, 1.4, 0.005);
}

TEST(Augment, LeavesEachBitWhereAllIsOff) {
  const std::vector<float> before = random_values(3 * 5 * 5);
  std::vector<float> after = before;
  std::vector<float> scratch;
  augment({}, {.seed = 1, .cursor = 2}, planes(after, 3, 5, 5), scratch);
  EXPECT_EQ(after, before);
}

TEST(Augment, MovesBothPicturesOfAnExampleAlike) {
  const std::vector<float> one = random_values(3 * 9 * 9);
  std::vector<float> both = one;
  both.insert(both.end(), one.begin(), one.end());
  std::vector<float> scratch;
  const AugmentSpec moves{.crop = 0.7, .zoom = 1.2, .rotation = 20.0};
  augment(moves, {.seed = 1, .cursor = 2}, planes(both, 3, 9, 9), scratch);
  const auto half = static_cast<std::ptrdiff_t>(one.size());
  const std::vector<float> first(both.begin(), both.begin() + half);
  EXPECT_EQ(first, std::vector<float>(both.begin() + half, both.end()));
  EXPECT_NE(first, one);
}

TEST(Augment, LightsEachPictureOfAnExampleByItself) {
  const std::vector<float> one = random_values(9 * 9);
  std::vector<float> both = one;
  both.insert(both.end(), one.begin(), one.end());
  std::vector<float> scratch;
  augment({.brightness = 0.5}, {.seed = 1, .cursor = 2}, planes(both, 1, 9, 9), scratch);
  for (const int picture : {0, 1}) {
    std::vector<float> alone = one;
    change_shades(draw_shade_factors({.brightness = 0.5}, {.seed = 1, .cursor = 2}, picture),
                  planes(alone, 1, 9, 9));
    const auto begin = both.begin() + picture * static_cast<std::ptrdiff_t>(one.size());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), begin)) << picture;
    EXPECT_NE(alone, one);
  }
  EXPECT_FALSE(std::equal(one.begin(), one.end(), both.begin(),
                          both.begin() + static_cast<std::ptrdiff_t>(one.size())));
}

}  // namespace
}  // namespace gangway::data
