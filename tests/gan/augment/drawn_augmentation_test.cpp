// SPDX-License-Identifier: MIT
#include "gan/augment/drawn_augmentation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace gangway::gan {
namespace {

constexpr AugmentKinds kAll = available_kinds(AugmentPolicy::kAda);
constexpr PictureShape kColored{.channels = 3, .side = 32};
constexpr int kMany = 4000;

RandomKey key_of(std::int32_t microbatch) {
  return {.seed = 3, .step = 5, .microbatch = microbatch};
}

AugmentationSpec spec_of(AugmentKinds kinds) {
  return {.policy = AugmentPolicy::kAda, .chosen = kinds};
}

DrawnAugmentation drawn_one(AugmentKinds kinds, double strength, std::int64_t picture,
                            const PictureShape& shape = kColored) {
  return drawn_augmentation(chances_of(spec_of(kinds)), strength, key_of(0), picture, shape);
}

double share_of(AugmentKinds kinds, double strength,
                const std::function<double(const DrawnAugmentation&)>& holds) {
  int count = 0;
  for (int picture = 0; picture < kMany; ++picture) {
    count += holds(drawn_one(kinds, strength, picture)) > 0.0 ? 1 : 0;
  }
  return static_cast<double>(count) / kMany;
}

TEST(DrawnAugmentation, IsNothingWithStrengthZero) {
  for (int picture = 0; picture < 100; ++picture) {
    const DrawnAugmentation nothing = drawn_one(kAll, 0.0, picture);
    for (const double number : {nothing.moves_pixels, nothing.resamples, nothing.changes_colors,
                                nothing.filters, nothing.noise, nothing.cuts_out}) {
      EXPECT_EQ(number, 0.0);
    }
  }
}

TEST(DrawnAugmentation, IsEverythingWithStrengthOne) {
  for (int picture = 0; picture < 100; ++picture) {
    const DrawnAugmentation all = drawn_one(kAll, 1.0, picture);
    for (const double number :
         {all.moves_pixels, all.resamples, all.changes_colors, all.filters, all.cuts_out}) {
      EXPECT_EQ(number, 1.0);
    }
    EXPECT_GT(all.noise, 0.0);
  }
}

TEST(DrawnAugmentation, DependsOnKeyAndNumberOfThePictureAlone) {
  const DrawnAugmentation one = drawn_one(kAll, 0.7, 4);
  EXPECT_EQ(drawn_one(kAll, 0.7, 4).geometry, one.geometry);
  EXPECT_NE(drawn_one(kAll, 1.0, 5).geometry, drawn_one(kAll, 1.0, 4).geometry);
  EXPECT_NE(drawn_augmentation(chances_of(spec_of(kAll)), 1.0, key_of(1), 4, kColored).geometry,
            drawn_one(kAll, 1.0, 4).geometry);
}

TEST(DrawnAugmentation, HasEachTransformationWithTheProbabilityOfThePaper) {
  const double bound = 4.0 * std::sqrt(0.25 / kMany);  // four standard deviations
  EXPECT_NEAR(share_of({AugmentKind::kCutout}, 0.3, [](const auto& one) { return one.cuts_out; }),
              0.3, bound);
  EXPECT_NEAR(share_of({AugmentKind::kNoise}, 0.3, [](const auto& one) { return one.noise > 0.0; }),
              0.3, bound);
  // At least one of four bands.
  EXPECT_NEAR(share_of({AugmentKind::kFilter}, 0.3, [](const auto& one) { return one.filters; }),
              1.0 - std::pow(0.7, 4), bound);
  // Scale, stretching and fine shift have p each; the two rotations have p together.
  EXPECT_NEAR(
      share_of({AugmentKind::kGeometry}, 0.3, [](const auto& one) { return one.resamples; }),
      1.0 - std::pow(0.7, 4), bound);
  // Probabilities: a flip p / 2, a turn 3 p / 4, a shift p.
  EXPECT_NEAR(share_of({AugmentKind::kBlit}, 0.4, [](const auto& one) { return one.moves_pixels; }),
              1.0 - (1.0 - 0.2) * (1.0 - 0.3) * (1.0 - 0.4), bound);
}

TEST(DrawnAugmentation, MultipliesTheProbabilityOfAKind) {
  AugmentationSpec spec = spec_of({AugmentKind::kCutout, AugmentKind::kNoise});
  spec.multipliers[static_cast<std::size_t>(AugmentKind::kCutout)] = 0.5;
  int cut = 0;
  int noisy = 0;
  for (int picture = 0; picture < kMany; ++picture) {
    // Strength 1.5 gives probability 1 for noise, and 0.75 for cutouts.
    const DrawnAugmentation one =
        drawn_augmentation(chances_of(spec), 1.5, key_of(0), picture, kColored);
    cut += one.cuts_out > 0.0 ? 1 : 0;
    noisy += one.noise > 0.0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(cut) / kMany, 0.75, 4.0 * std::sqrt(0.25 / kMany));
  EXPECT_EQ(noisy, kMany);
}

TEST(DrawnAugmentation, BlitsLeadFromPixelsToPixels) {
  int turned = 0;
  for (int picture = 0; picture < 200; ++picture) {
    const Affine moved = drawn_one({AugmentKind::kBlit}, 1.0, picture).geometry;
    EXPECT_EQ(std::abs(moved.xx * moved.yy - moved.xy * moved.yx), 1.0);
    for (const double number : {moved.xx, moved.xy, moved.yx, moved.yy, moved.x0, moved.y0}) {
      EXPECT_EQ(number, std::nearbyint(number));
    }
    EXPECT_LE(std::abs(moved.x0), 4.0);  // an eighth of 32
    EXPECT_LE(std::abs(moved.y0), 4.0);
    turned += moved.xx == 0.0 ? 1 : 0;
  }
  EXPECT_NEAR(turned, 100, 35);
}

TEST(DrawnAugmentation, ColorsKeepGreysGreyAndSpareOnesWithOneChannelHueAndSaturation) {
  for (int picture = 0; picture < 100; ++picture) {
    const ColorMatrix colors = drawn_one({AugmentKind::kColor}, 1.0, picture).colors;
    const auto sum = [](const ColorMatrix& of, int row) {
      return of.row[row][0] + of.row[row][1] + of.row[row][2];
    };
    EXPECT_NEAR(sum(colors, 0), sum(colors, 1), 1e-12);
    EXPECT_NEAR(sum(colors, 0), sum(colors, 2), 1e-12);
    EXPECT_NEAR(colors.row[0][3], colors.row[1][3], 1e-12);
    // One-channel and three-channel pictures of greys get the same gain and shift.
    const ColorMatrix grey =
        drawn_one({AugmentKind::kColor}, 1.0, picture, {.channels = 1, .side = 32}).colors;
    EXPECT_NEAR(sum(grey, 0), sum(colors, 0), 1e-12);
    EXPECT_NEAR(grey.row[0][3], colors.row[0][3], 1e-12);
    EXPECT_NEAR(grey.row[0][1], grey.row[0][2], 1e-12);  // no hue
  }
}

TEST(DrawnAugmentation, FiltersKeepTheExpectedPower) {
  for (int picture = 0; picture < 100; ++picture) {
    const auto gains = std::to_array(drawn_one({AugmentKind::kFilter}, 0.25, picture).gains);
    // Power of a natural picture, whose spectrum falls with the square of the frequency.
    const double power = (10.0 * gains[0] * gains[0] + gains[1] * gains[1] + gains[2] * gains[2] +
                          gains[3] * gains[3]) /
                         13.0;
    // With a single band the power stays exact; each further band normalizes by its own share.
    const bool is_single =
        std::ranges::count_if(gains, [&](double gain) { return gain == gains[0]; }) >= 3 ||
        std::ranges::count_if(gains, [&](double gain) { return gain == gains[1]; }) >= 3;
    if (is_single) {
      EXPECT_NEAR(power, 1.0, 1e-12);
    }
  }
}

TEST(DrawnAugmentation, ProductsDoTheLastOneFirst) {
  const Affine flip{.xx = -1.0};
  const Affine moved{.x0 = 3.0};
  const Affine both = product(flip, moved);  // x + 3, then flipped
  EXPECT_EQ(both.xx * 2.0 + both.x0, -5.0);
}

}  // namespace
}  // namespace gangway::gan
