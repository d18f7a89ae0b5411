// SPDX-License-Identifier: MIT
#include "comm/reduce/update_counts.hpp"

#include <gtest/gtest.h>

namespace gangway::comm {
namespace {

TEST(UpdateCounts, OneThatIsMadeCounts) {
  EXPECT_EQ(updated({.updates = 4}, /*is_scaled=*/false), (UpdateCounts{.updates = 5}));
}

TEST(UpdateCounts, OneThatIsSkippedLeavesTheOptimisersCountAlone) {
  EXPECT_EQ(skipped({.updates = 4}, /*is_scaled=*/false),
            (UpdateCounts{.updates = 4, .skipped = 1}));
}

TEST(UpdateCounts, ASkipHalvesTheLossScaleAndTheWaitForItsGrowthBeginsAnew) {
  EXPECT_EQ(skipped({.updates = 4, .scale_exponent = 16, .unbroken = 4}, /*is_scaled=*/true),
            (UpdateCounts{.updates = 4, .skipped = 1, .scale_exponent = 15}));
}

TEST(UpdateCounts, TwoThousandUnbrokenUpdatesDoubleTheLossScale) {
  UpdateCounts counts{.scale_exponent = 3};
  for (int update = 1; update < LossScaling::kUpdatesToGrow; ++update) {
    counts = updated(counts, /*is_scaled=*/true);
    ASSERT_EQ(counts.scale_exponent, 3);
  }
  counts = updated(counts, /*is_scaled=*/true);
  EXPECT_EQ(counts, (UpdateCounts{.updates = LossScaling::kUpdatesToGrow, .scale_exponent = 4}));
}

TEST(UpdateCounts, TheLossScaleStaysWithinItsBounds) {
  UpdateCounts low{.scale_exponent = LossScaling::kLeastExponent};
  EXPECT_EQ(skipped(low, true).scale_exponent, LossScaling::kLeastExponent);
  const UpdateCounts high{.scale_exponent = LossScaling::kMostExponent,
                          .unbroken = LossScaling::kUpdatesToGrow - 1};
  EXPECT_EQ(updated(high, true).scale_exponent, LossScaling::kMostExponent);
}

}  // namespace
}  // namespace gangway::comm
