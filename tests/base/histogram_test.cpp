// SPDX-License-Identifier: MIT
#include "base/numbers/histogram.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

HistogramCounts counted(const std::vector<float>& values) {
  Histogram histogram;
  histogram.add(values);
  return histogram.counts();
}

TEST(Histogram, PutsEachValueBetweenTheLimitsOfItsBucket) {
  for (float magnitude = 1e-11F; magnitude < 1e11F; magnitude *= 1.07F) {
    for (const float value : {magnitude, -magnitude}) {
      const int bucket = Histogram::bucket_of(value);
      EXPECT_LE(value, Histogram::upper_limit(bucket)) << value;
      EXPECT_GE(value, Histogram::upper_limit(bucket - 1)) << value;
    }
  }
}

TEST(Histogram, HasFourBucketsAnOctave) {
  const int one = Histogram::bucket_of(1.0F);
  EXPECT_EQ(Histogram::upper_limit(one - 1), 1.0);
  EXPECT_EQ(Histogram::upper_limit(one), 1.25);
  EXPECT_EQ(Histogram::upper_limit(one + 3), 2.0);
  EXPECT_EQ(Histogram::bucket_of(2.0F), one + 4);
  EXPECT_EQ(Histogram::bucket_of(std::nextafter(2.0F, 0.0F)), one + 3);
  EXPECT_EQ(Histogram::bucket_of(-1.0F), Histogram::kBuckets - 1 - one) << "sides are mirrored";
}

TEST(Histogram, HasOneBucketForWhatIsAlmostNothing) {
  const int middle = Histogram::bucket_of(0.0F);
  for (const float value : {-0.0F, 1e-30F, -1e-30F, std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(Histogram::bucket_of(value), middle) << value;
  }
  EXPECT_EQ(Histogram::upper_limit(middle), 0x1p-40);
  EXPECT_EQ(Histogram::upper_limit(middle - 1), -0x1p-40);
  EXPECT_EQ(Histogram::bucket_of(0x1p-40F), middle + 1);
  EXPECT_EQ(Histogram::bucket_of(-0x1p-40F), middle - 1);
}

TEST(Histogram, KeepsWhatIsTooLargeInTheOutermostBuckets) {
  EXPECT_EQ(Histogram::bucket_of(kInfinity), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucket_of(1e30F), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucket_of(-kInfinity), 0);
}

TEST(Histogram, TellsWhatIsInIt) {
  const HistogramCounts found = counted({-1.0F, 3.0F, 1.0F, 1.2F, std::nanf("")});
  EXPECT_EQ(found.buckets, (std::vector{Histogram::bucket_of(-1.0F), Histogram::bucket_of(1.0F),
                                        Histogram::bucket_of(3.0F)}));
  EXPECT_EQ(found.counts, (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_EQ(found.least, -1.0);
  EXPECT_EQ(found.most, 3.0);
  EXPECT_FLOAT_EQ(static_cast<float>(found.sum), 4.2F);
  EXPECT_FLOAT_EQ(static_cast<float>(found.sum_of_squares), 12.44F);
  EXPECT_EQ(counted({}), HistogramCounts{});
}

TEST(Histogram, OfPartsAddsUpToThatOfTheWhole) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) {  // sums of these are exact
    values[i] = (static_cast<float>(i * 37 % 101) - 50.0F) / 16.0F;
  }
  Histogram whole;
  for (const auto& [begin, end] : {std::pair(600, 1000), std::pair(0, 10), std::pair(10, 600)}) {
    whole.add(counted({values.begin() + begin, values.begin() + end}));
  }
  whole.add(HistogramCounts{});  // a worker that owns no element
  const HistogramCounts expected = counted(values);
  EXPECT_EQ(whole.counts(), expected);
  EXPECT_EQ(std::accumulate(expected.counts.begin(), expected.counts.end(), std::int64_t{0}), 1000);
}

}  // namespace
}  // namespace gangway
