// SPDX-License-Identifier: MIT
#include "data/permutation.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

std::vector<std::int64_t> all_of(const KeyedPermutation& permutation, std::int64_t size) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < size; ++i) {
    values.push_back(permutation(i));
  }
  return values;
}

TEST(KeyedPermutation, VisitsEveryElementOnce) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 100, 1000, 4097}) {
    std::vector<std::int64_t> values = all_of(KeyedPermutation(7, 0, size), size);
    std::sort(values.begin(), values.end());
    std::vector<std::int64_t> expected(static_cast<std::size_t>(size));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(values, expected) << "size " << size;
  }
}

TEST(KeyedPermutation, DependsOnSeedAndDataPassOnly) {
  const auto base = all_of(KeyedPermutation(7, 3, 1000), 1000);
  EXPECT_EQ(all_of(KeyedPermutation(7, 3, 1000), 1000), base);
  EXPECT_NE(all_of(KeyedPermutation(8, 3, 1000), 1000), base);
  EXPECT_NE(all_of(KeyedPermutation(7, 4, 1000), 1000), base);
}

TEST(KeyedPermutation, StaysTheSameInFutureVersions) {
  // If these values change, every job sees other images.
  const KeyedPermutation permutation(0, 0, 60000);
  const std::vector<std::int64_t> values{permutation(0), permutation(1), permutation(2),
                                         permutation(59999)};
  EXPECT_EQ(values, (std::vector<std::int64_t>{5699, 45491, 46632, 25855}));
}

TEST(KeyedPermutation, SpreadsNeighboursLikeChance) {
  // A random permutation has one fixed point on average, and ascends at half of its places.
  constexpr std::int64_t kSize = 10000;
  const auto values = all_of(KeyedPermutation(1, 0, kSize), kSize);
  int fixed = 0;
  int rises = 0;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    fixed += values[i] == static_cast<std::int64_t>(i) ? 1 : 0;
    rises += values[i] < values[i + 1] ? 1 : 0;
  }
  EXPECT_LT(fixed, 8);
  EXPECT_NEAR(rises, kSize / 2, 150);
}

TEST(KeyedPermutation, ReachesSizesFarBeyondMemory) {
  constexpr std::int64_t kSize = (std::int64_t{1} << 61) + 5;
  const KeyedPermutation permutation(1, 0, kSize);
  for (std::int64_t i = 0; i < 100; ++i) {
    EXPECT_GE(permutation(i), 0);
    EXPECT_LT(permutation(i), kSize);
  }
}

TEST(KeyedPermutation, RefusesImpossibleSizes) {
  EXPECT_THROW(KeyedPermutation(0, 0, 0), InvariantError);
  EXPECT_THROW(KeyedPermutation(0, 0, std::numeric_limits<std::int64_t>::max()), InvariantError);
}

TEST(SampleOrder, ShowsEachExampleOnceADataPassInAnotherOrder) {
  const SampleOrder order(5, 50);
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  for (std::int64_t cursor = 0; cursor < 50; ++cursor) {
    first.push_back(order.dataset_index(cursor));
    second.push_back(order.dataset_index(cursor + 50));
  }
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

}  // namespace
}  // namespace gangway::data
