// SPDX-License-Identifier: MIT
#include "comm/arena/bucket_plan.hpp"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::comm {
namespace {

using Tensors = std::vector<ArenaLayout::Tensor>;

ArenaLayout layout_of(std::size_t blocks) {
  return {Tensors{{"weight", blocks * kBlockElements}}, Tensors{}};
}

/// Walks the slices in arena order (last bucket first) and checks that they join without gap or
/// overlap.
void expect_exact_cover(const ArenaLayout& layout, const BucketPlan& plan) {
  std::size_t at = 0;
  for (std::size_t bucket = plan.num_buckets(); bucket-- > 0;) {
    ASSERT_EQ(plan.bucket(bucket).begin, at);
    ASSERT_FALSE(plan.bucket(bucket).empty());
    for (int worker = 0; worker < plan.num_workers(); ++worker) {
      const ElementRange slice = plan.slice(bucket, worker);
      ASSERT_EQ(slice.begin, at);
      ASSERT_GE(slice.end, slice.begin);
      ASSERT_EQ(slice.size() % kBlockElements, 0U);
      at = slice.end;
    }
    ASSERT_EQ(plan.bucket(bucket).end, at);
  }
  ASSERT_EQ(at, layout.size());
}

TEST(BucketPlan, CoversTheArenaExactlyWithSlicesOfWholeBlocks) {
  for (const std::size_t blocks : {1U, 2U, 3U, 7U, 8U, 40U, 1001U}) {
    const ArenaLayout layout = layout_of(blocks);
    for (const std::size_t buckets : {1U, 3U, 8U, 128U}) {
      for (const int workers : {1, 2, 3, 4, 7, 16}) {
        SCOPED_TRACE(testing::Message()
                     << blocks << " blocks, " << buckets << " buckets, " << workers << " workers");
        expect_exact_cover(layout, BucketPlan(layout, workers, buckets));
      }
    }
  }
}

TEST(BucketPlan, PutsTheEndOfTheArenaIntoBucketZero) {
  const ArenaLayout layout = layout_of(8);
  const BucketPlan plan(layout, 2, 4);
  EXPECT_EQ(plan.bucket(0).end, layout.size());
  EXPECT_EQ(plan.bucket(3).begin, 0U);
}

TEST(BucketPlan, OfPartsJoinedGivesEachElementToOneOfItsPartsOwners) {
  const ArenaLayout layout = layout_of(10);
  const auto part = [&](std::size_t begin, std::size_t end) {
    return BucketPlan(layout, {{begin * kBlockElements, end * kBlockElements}}, 2, 2);
  };
  const BucketPlan plan =
      BucketPlan::joined({part(0, 4).among({0, 1}, 4), part(4, 10).among({2, 3}, 4)});
  EXPECT_EQ(plan.num_workers(), 4);
  EXPECT_EQ(plan.last_owner(), 3);
  std::vector<int> owners(10, -1);
  for (std::size_t bucket = 0; bucket < plan.num_buckets(); ++bucket) {
    for (int worker = 0; worker < 4; ++worker) {
      const ElementRange slice = plan.slice(bucket, worker);
      for (std::size_t i = slice.begin; i < slice.end; i += kBlockElements) {
        int& owner = owners[i / kBlockElements];
        EXPECT_EQ(owner, -1);
        owner = worker;
      }
    }
  }
  for (std::size_t block = 0; block < owners.size(); ++block) {
    EXPECT_EQ(owners[block] / 2, block < 4 ? 0 : 1) << block;
  }
  EXPECT_NE(plan.hash(), BucketPlan(layout, 4, 4).hash());
}

TEST(BucketPlan, SharesABucketEvenly) {
  const BucketPlan plan(layout_of(30), 3, 2);
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_EQ(plan.slice(0, worker).size(), 2 * kBlockElements);
    EXPECT_EQ(plan.slice(1, worker).size(), 8 * kBlockElements);
  }
}

TEST(BucketPlan, MakesTheFirstBucketAQuarterOfTheOthers) {
  const BucketPlan plan(layout_of(290), 2, 8);
  EXPECT_EQ(plan.bucket(0).size(), 10 * kBlockElements);
  for (std::size_t bucket = 1; bucket < 8; ++bucket) {
    EXPECT_EQ(plan.bucket(bucket).size(), 40 * kBlockElements);
  }
}

TEST(BucketPlan, MakesNoMoreBucketsThanThereAreBlocks) {
  EXPECT_EQ(BucketPlan(layout_of(3), 2, 8).num_buckets(), 3U);
  EXPECT_EQ(BucketPlan(layout_of(30), 2, 8).num_buckets(), 8U);
}

TEST(BucketPlan, TakesZeroBucketsForOne) {
  EXPECT_EQ(BucketPlan(layout_of(3), 2, 0).num_buckets(), 1U);
}

TEST(BucketPlan, MakesNoMoreBucketsThanTagsCanName) {
  EXPECT_EQ(BucketPlan(layout_of(1000), 2, 1000).num_buckets(), 128U);
}

TEST(BucketPlan, HasNoBucketsForAnEmptyArena) {
  const ArenaLayout layout(Tensors{}, Tensors{});
  EXPECT_EQ(BucketPlan(layout, 3, 8).num_buckets(), 0U);
}

TEST(BucketPlan, HashesEqualForEqualInputs) {
  EXPECT_EQ(BucketPlan(layout_of(9), 3, 4).hash(), BucketPlan(layout_of(9), 3, 4).hash());
}

TEST(BucketPlan, HashesDifferentlyWhenAnythingDiffers) {
  const Tensors parameters{{"a", 5000}, {"b", 5000}};
  const Tensors statistics{{"m", 64}};
  const auto hash = [](const Tensors& p, const Tensors& s, int workers, std::size_t buckets) {
    return BucketPlan(ArenaLayout(p, s), workers, buckets).hash();
  };
  const std::vector<std::uint64_t> hashes{
      hash(parameters, statistics, 2, 3),
      hash(parameters, statistics, 3, 3),                     // workers
      hash(parameters, statistics, 2, 2),                     // buckets
      hash({{"a", 5000}, {"c", 5000}}, statistics, 2, 3),     // a name
      hash({{"b", 5000}, {"a", 5000}}, statistics, 2, 3),     // the order
      hash({{"a", 5000}, {"b", 5001}}, statistics, 2, 3),     // a size, within the padding
      hash({{"a", 5056}, {"b", 5000}}, statistics, 2, 3),     // an offset
      hash({{"a", 5000}, {"b", 5000}, {"m", 64}}, {}, 2, 3),  // a statistic as a parameter
      hash(parameters, {{"m", 65}}, 2, 3),                    // a size of a statistic
      hash(parameters, {{"n", 64}}, 2, 3),                    // a name of a statistic
      hash(parameters, {}, 2, 3),                             // no statistics
  };
  EXPECT_EQ(std::set<std::uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());
}

TEST(BucketPlan, HasAsFewBucketsAsTheirLeastBytesAsk) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  const auto buckets = [](std::size_t mebibytes) {
    const ArenaLayout layout = layout_of(mebibytes * kMebibyte / sizeof(float) / kBlockElements);
    return num_buckets_of(layout, 4 * kMebibyte);
  };
  EXPECT_EQ(buckets(1), 1U);
  EXPECT_EQ(buckets(7), 1U);
  EXPECT_EQ(buckets(8), 2U);
  EXPECT_EQ(buckets(24), 6U);
  EXPECT_EQ(buckets(400), kDefaultBuckets);
  EXPECT_EQ(num_buckets_of(layout_of(100), 0), kDefaultBuckets);
}

TEST(BucketPlan, AmongAGroupsWorkersGivesTheOthersNothing) {
  const ArenaLayout layout = layout_of(40);
  const BucketPlan of_group(layout, 2, 4);
  const BucketPlan of_all = of_group.among({1, 3}, 5);
  EXPECT_EQ(of_all.num_workers(), 5);
  EXPECT_EQ(of_all.last_owner(), 3);
  EXPECT_EQ(of_group.last_owner(), 1);
  for (std::size_t bucket = 0; bucket < of_all.num_buckets(); ++bucket) {
    EXPECT_EQ(of_all.slice(bucket, 1), of_group.slice(bucket, 0));
    EXPECT_EQ(of_all.slice(bucket, 3), of_group.slice(bucket, 1));
    for (const int stranger : {0, 2, 4}) {
      EXPECT_TRUE(of_all.slice(bucket, stranger).empty());
    }
  }
  EXPECT_NE(of_all.hash(), of_group.hash());
  EXPECT_NE(of_all.hash(), of_group.among({2, 3}, 5).hash());
}

}  // namespace
}  // namespace gangway::comm
