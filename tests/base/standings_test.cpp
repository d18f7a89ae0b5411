// SPDX-License-Identifier: MIT
#include "base/numbers/standings.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Standings, KnowLeastAndGreatestAsALookAtAllDoes) {
  std::minstd_rand random(5);
  std::vector<int> values(9, 3);
  Standings<int> standings(values.size(), 3);
  for (int i = 0; i < 1000; ++i) {
    const std::size_t index = random() % values.size();
    const int value = static_cast<int>(random() % 6);
    values[index] = value;
    standings.set(index, value);
    EXPECT_EQ(standings[index], value);
    EXPECT_EQ(standings.least(), *std::ranges::min_element(values));
    EXPECT_EQ(standings.greatest(), *std::ranges::max_element(values));
  }
}

}  // namespace
}  // namespace gangway
