// SPDX-License-Identifier: MIT
#include "coordinator/core/save_clock.hpp"

#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

TEST(SaveClock, AsksForNothingUnlessItIsTold) {
  SaveClock clock(milliseconds(0));
  clock.granted(kStart);
  EXPECT_FALSE(clock.is_due(kStart + seconds(100'000)));
}

TEST(SaveClock, AsksAfterItsIntervalUntilItIsGranted) {
  SaveClock clock(seconds(10));
  EXPECT_FALSE(clock.is_due(kStart + seconds(10)));  // not started
  clock.granted(kStart);
  EXPECT_FALSE(clock.is_due(kStart + milliseconds(9'999)));
  EXPECT_TRUE(clock.is_due(kStart + seconds(10)));
  EXPECT_TRUE(clock.is_due(kStart + seconds(11)));
  clock.granted(kStart + seconds(12));
  EXPECT_FALSE(clock.is_due(kStart + seconds(21)));
}

TEST(SaveClock, LeavesASaveShortlyBeforeTheEndToTheEnd) {
  SaveClock clock(seconds(100));
  clock.granted(kStart);
  EXPECT_TRUE(clock.is_due(kStart + seconds(100)));
  EXPECT_TRUE(clock.is_due(kStart + seconds(100), seconds(10)));
  EXPECT_FALSE(clock.is_due(kStart + seconds(100), milliseconds(9'999)));
  clock.failed(1, kStart + seconds(100));
  EXPECT_TRUE(clock.is_due(kStart + seconds(101), seconds(1))) << "what has failed is tried again";
}

TEST(SaveClock, WaitsTwiceAsLongAfterEachFailureInARowUpToAMinute) {
  SaveClock clock(milliseconds(0));
  clock.failed(1, kStart);
  EXPECT_FALSE(clock.is_due(kStart));
  EXPECT_TRUE(clock.is_due(kStart + seconds(1)));
  clock.granted(kStart + seconds(1));
  EXPECT_FALSE(clock.is_due(kStart + seconds(5)));
  clock.failed(3, kStart);
  EXPECT_FALSE(clock.is_due(kStart + milliseconds(3'999)));
  EXPECT_TRUE(clock.is_due(kStart + seconds(4)));
  clock.failed(1000, kStart);
  EXPECT_FALSE(clock.is_due(kStart + seconds(63)));
  EXPECT_TRUE(clock.is_due(kStart + seconds(64)));
}

}  // namespace
}  // namespace gangway::coordinator
