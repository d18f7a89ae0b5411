// SPDX-License-Identifier: MIT
#include "comm/reduce/update_counts.hpp"

#include <gtest/gtest.h>

namespace gangway::comm {
namespace {

TEST(UpdateCounts, OneThatIsMadeCounts) {
  EXPECT_EQ(updated({.updates = 4, .in_a_row = 3}, /*is_scaled=*/false, 0),
            (UpdateCounts{.updates = 5}));
}

TEST(UpdateCounts, OneThatIsSkippedLeavesTheOptimisersCountAlone) {
  EXPECT_EQ(skipped({.updates = 4}, /*is_scaled=*/false, 0),
            (UpdateCounts{.updates = 4, .skipped = 1, .in_a_row = 1}));
}

TEST(UpdateCounts, ASkipHalvesTheLossScaleAndTheWaitForItsGrowthBeginsAnew) {
  EXPECT_EQ(skipped({.updates = 4, .scale_exponent = 16, .unbroken = 4}, /*is_scaled=*/true, 16),
            (UpdateCounts{.updates = 4, .skipped = 1, .scale_exponent = 15, .in_a_row = 1}));
}

TEST(UpdateCounts, TwoThousandUnbrokenUpdatesDoubleTheLossScale) {
  UpdateCounts counts{.scale_exponent = 3};
  for (int update = 1; update < LossScaling::kUpdatesToGrow; ++update) {
    counts = updated(counts, /*is_scaled=*/true, counts.scale_exponent);
    ASSERT_EQ(counts.scale_exponent, 3);
  }
  counts = updated(counts, /*is_scaled=*/true, counts.scale_exponent);
  EXPECT_EQ(counts, (UpdateCounts{.updates = LossScaling::kUpdatesToGrow, .scale_exponent = 4}));
}

TEST(UpdateCounts, TheLossScaleStaysWithinItsBounds) {
  UpdateCounts low{.scale_exponent = LossScaling::kLeastExponent};
  EXPECT_EQ(skipped(low, true, low.scale_exponent).scale_exponent, LossScaling::kLeastExponent);
  const UpdateCounts high{.scale_exponent = LossScaling::kMostExponent,
                          .unbroken = LossScaling::kUpdatesToGrow - 1};
  EXPECT_EQ(updated(high, true, high.scale_exponent).scale_exponent, LossScaling::kMostExponent);
}

TEST(UpdateCounts, WhereAnothersScaleWasUsedThatOneIsHalvedAndTheOwnDoesNotGrow) {
  const UpdateCounts counts{.updates = 9, .scale_exponent = 16, .unbroken = 1999};
  EXPECT_EQ(updated(counts, /*is_scaled=*/true, 10),
            (UpdateCounts{.updates = 10, .scale_exponent = 16, .unbroken = 1999}));
  EXPECT_EQ(skipped(counts, /*is_scaled=*/true, 10),
            (UpdateCounts{.updates = 9, .skipped = 1, .scale_exponent = 9, .in_a_row = 1}));
}

}  // namespace
}  // namespace gangway::comm
