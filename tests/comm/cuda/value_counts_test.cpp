// SPDX-License-Identifier: MIT
#include "comm/cuda/value_counts.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/numbers/histogram.hpp"
#include "tests/comm/cuda/host_references.hpp"

namespace gangway::comm {
namespace {

static_assert(ValueCounts::kLowestOctave == Histogram::kLowestOctave);
static_assert(ValueCounts::kBuckets == Histogram::kBuckets);

TEST(ValueCounts, HaveTheBucketsOfHistograms) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += 4099) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(value)) {
      ASSERT_EQ(bucket_of(value), Histogram::bucket_of(value)) << value;
    }
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bucket_of(-infinity), Histogram::bucket_of(-infinity));
}

TEST(ValueCounts, AddUpToAHistogram) {
  const std::vector<float> values{0.5F, -2.0F, std::numeric_limits<float>::quiet_NaN(), 0.5F, 3.0F};
  ValueCounts counts{};
  count_on_host(values.data(), 2, counts);
  count_on_host(values.data() + 2, 3, counts);
  Histogram expected;
  expected.add(values);
  const HistogramCounts all = expected.counts();
  EXPECT_EQ(counts.total, 4U);
  EXPECT_EQ(counts.least, all.least);
  EXPECT_EQ(counts.most, all.most);
  EXPECT_EQ(counts.sum, all.sum);
  EXPECT_EQ(counts.sum_of_squares, all.sum_of_squares);
  for (std::size_t i = 0; i < all.buckets.size(); ++i) {
    EXPECT_EQ(counts.counts[all.buckets[i]], all.counts[i]);
  }
}

}  // namespace
}  // namespace gangway::comm
