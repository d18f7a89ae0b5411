// SPDX-License-Identifier: MIT
#include "comm/nccl/launch_order.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

std::vector<std::size_t> launch_what_is_ready(LaunchOrder& order) {
  std::vector<std::size_t> launched;
  while (const std::optional<std::size_t> bucket = order.next()) {
    launched.push_back(*bucket);
    order.launched();
  }
  return launched;
}

TEST(LaunchOrder, LaunchesNothingBeforeAPhaseIsOpened) {
  LaunchOrder order(3);
  EXPECT_TRUE(order.all_launched());
  EXPECT_TRUE(launch_what_is_ready(order).empty());
}

TEST(LaunchOrder, FollowsThePlanWhateverBecomesReadyFirst) {
  LaunchOrder order(4);
  order.open();
  order.ready(2);
  order.ready(1);
  EXPECT_TRUE(launch_what_is_ready(order).empty()) << "bucket 0 comes first";
  order.ready(0);
  EXPECT_EQ(launch_what_is_ready(order), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_FALSE(order.all_launched());
  order.ready(3);
  EXPECT_EQ(launch_what_is_ready(order), (std::vector<std::size_t>{3}));
  EXPECT_TRUE(order.all_launched());
}

TEST(LaunchOrder, BeginsEachPhaseWithNothingReady) {
  LaunchOrder order(2);
  for (int phase = 0; phase < 3; ++phase) {
    order.open();
    EXPECT_FALSE(order.is_ready(0));
    order.ready(0);
    order.ready(1);
    EXPECT_EQ(launch_what_is_ready(order).size(), 2U);
  }
}

TEST(LaunchOrder, RefusesAPhaseWhileTheOneBeforeIsNotLaunched) {
  LaunchOrder order(2);
  order.open();
  order.ready(0);
  (void)launch_what_is_ready(order);
  EXPECT_THROW(order.open(), InvariantError);
}

}  // namespace
}  // namespace gangway::comm
