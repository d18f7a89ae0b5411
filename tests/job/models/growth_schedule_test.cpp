// SPDX-License-Identifier: MIT
#include "job/models/growth_schedule.hpp"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "job/blocks/progressive/growth.hpp"
#include "job/families/families.hpp"
#include "job/spec.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

constexpr GrowthSpec kFromEight{.from = 8, .kimg = 20.0, .fade_kimg = 10.0};

TEST(GrowthLevel, IsKeptAndThenFadesToTheNext) {
  const std::vector<std::pair<std::int64_t, double>> expected{
      {0, 1.0},      {19'999, 1.0}, {20'000, 1.0}, {20'001, 1.0 + 1.0 / 10'000},
      {25'000, 1.5}, {30'000, 2.0}, {50'000, 2.0}, {52'500, 2.25},
      {60'000, 3.0}};
  for (const auto& [images, level] : expected) {
    EXPECT_DOUBLE_EQ(growth_level(kFromEight, 32, images), level) << images;
  }
}

TEST(GrowthLevel, EndsAtTheFinalResolution) {
  EXPECT_EQ(fully_grown_images(kFromEight, 32), 60'000);
  for (const std::int64_t images : {60'000L, 89'000L, 1'000'000'000'000L}) {
    EXPECT_EQ(growth_level(kFromEight, 32, images), 3.0);
  }
  EXPECT_EQ(growth_level(kFromEight, 64, 60'000), 3.0);
  EXPECT_EQ(growth_level(kFromEight, 64, 85'000), 3.5);
}

TEST(GrowthLevel, BeginsAtTheEndWhereThereIsNothingToGrow) {
  EXPECT_EQ(growth_level({.from = 32}, 32, 0), 3.0);
  EXPECT_EQ(fully_grown_images({.from = 32}, 32), 0);
  const GrowthSpec at_once{.kimg = 0.0, .fade_kimg = 0.0};
  EXPECT_EQ(growth_level(at_once, 256, 0), 6.0);
}

TEST(GrowthLevel, MayFadeAllTheTimeOrNever) {
  const GrowthSpec fades{.from = 4, .kimg = 0.0, .fade_kimg = 8.0};
  EXPECT_EQ(growth_level(fades, 16, 0), 0.0);
  EXPECT_EQ(growth_level(fades, 16, 4'000), 0.5);
  EXPECT_EQ(growth_level(fades, 16, 12'000), 1.5);
  EXPECT_EQ(growth_level(fades, 16, 16'000), 2.0);
  const GrowthSpec jumps{.from = 4, .kimg = 8.0, .fade_kimg = 0.0};
  EXPECT_EQ(growth_level(jumps, 16, 7'999), 0.0);
  EXPECT_EQ(growth_level(jumps, 16, 8'000), 1.0);
}

TEST(GrowthLevel, CountsWholeImages) {
  const GrowthSpec short_ones{.from = 4, .kimg = 0.003, .fade_kimg = 0.0024};  // 3 and 2 steps
  EXPECT_EQ(growth_level(short_ones, 8, 3), 0.0);
  EXPECT_EQ(growth_level(short_ones, 8, 4), 0.5);
  EXPECT_EQ(growth_level(short_ones, 8, 5), 1.0);
}

TEST(GrowthLevel, NeverGoesBack) {
  double before = 0.0;
  for (std::int64_t images = 0; images < 70'000; images += 37) {
    const double level = growth_level(kFromEight, 32, images);
    EXPECT_GE(level, before) << images;
    before = level;
  }
}

TEST(GrowthLevel, OfAFamilyThatDoesNotGrowIsTheEnd) {
  JobSpec job;
  EXPECT_EQ(job.growth_level(0), kFullyGrown);
  job.model.family = family_named("progressive");
  EXPECT_EQ(job.growth_level(0), 0.0);
  EXPECT_EQ(job.growth_level(7'500), 0.5);
  EXPECT_EQ(job.growth_level(30'000), 3.0);
}

TEST(GrowingPart, ComesInAboveTheOneBefore) {
  const GrowingPart middle{.part = 2, .last = 3};
  EXPECT_EQ(middle.side(), 16);
  EXPECT_EQ(middle.share(0.0), 0.0);
  EXPECT_EQ(middle.share(1.0), 0.0);
  EXPECT_EQ(middle.share(1.25), 0.25);
  EXPECT_EQ(middle.share(2.0), 1.0);
  EXPECT_EQ(middle.share(kFullyGrown), 1.0);
  EXPECT_EQ(middle.finer_share(2.0), 0.0);
  EXPECT_EQ(middle.finer_share(2.5), 0.5);
  EXPECT_EQ(middle.finer_share(kFullyGrown), 1.0);
}

TEST(GrowingPart, IsThereFromTheStartIfItIsTheFirst) {
  const GrowingPart first{.part = 0, .last = 3};
  EXPECT_EQ(first.share(0.0), 1.0);
  EXPECT_EQ(first.finer_share(0.0), 0.0);
}

TEST(GrowingPart, HasNoFinerOneIfItIsTheLast) {
  const GrowingPart last{.part = 3, .last = 3};
  EXPECT_EQ(last.finer_share(3.0), 0.0);
  EXPECT_EQ(last.finer_share(kFullyGrown), 0.0);
}

}  // namespace
}  // namespace gangway
