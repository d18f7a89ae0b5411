// SPDX-License-Identifier: MIT
#include "base/numbers/min_max_tracker.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(MinMaxTracker, KnowLeastAndGreatestAsALookAtAllDoes) {
  std::minstd_rand random(5);
  std::vector<int> values(9, 3);
  MinMaxTracker<int> min_max_tracker(values.size(), 3);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t index = random() % values.size();
    const int value = static_cast<int>(random() % 6);
    values[index] = value;
    min_max_tracker.set(index, value);
    EXPECT_EQ(min_max_tracker[index], value);
    EXPECT_EQ(min_max_tracker.least(), *std::ranges::min_element(values));
    EXPECT_EQ(min_max_tracker.greatest(), *std::ranges::max_element(values));
  }
}

}  // namespace
}  // namespace gangway
