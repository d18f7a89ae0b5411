// SPDX-License-Identifier: MIT
#include "comm/arena/tree_sum.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/arena/arena_layout.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kSumElements = 10'000;  // several chunks, and a remainder

using Values = std::vector<float>;

std::vector<Values> leaves(int num_microbatches) {
  std::vector<Values> all(static_cast<std::size_t>(num_microbatches));
  for (std::size_t m = 0; m < all.size(); ++m) {
    for (std::size_t i = 0; i < kSumElements; ++i) {
      all[m].push_back(scattered(m * 1'000'003 + i));
    }
  }
  return all;
}

/// Computes the sum of one element by its definition.
float sum_at(const std::vector<Values>& all, MicrobatchRange node, std::size_t i) {
  if (node.size() == 1) {
    return all[static_cast<std::size_t>(node.begin)][i];
  }
  const float left = sum_at(all, {node.begin, split_point(node)}, i);
  const float right = sum_at(all, {split_point(node), node.end}, i);
  return left + right;
}

Values sum_by_definition(const std::vector<Values>& all, MicrobatchRange node, float scale) {
  Values sum(kSumElements);
  for (std::size_t i = 0; i < kSumElements; ++i) {
    sum[i] = sum_at(all, node, i) * scale;
  }
  return sum;
}

std::vector<TreeSummand> leaf_summands(const std::vector<Values>& all) {
  std::vector<TreeSummand> summands;
  for (int m = 0; m < static_cast<int>(all.size()); ++m) {
    summands.push_back({{m, m + 1}, all[static_cast<std::size_t>(m)].data()});
  }
  return summands;
}

TEST(TreeSum, FollowsTheTreeBitForBit) {
  for (int m = 1; m <= 16; ++m) {
    const std::vector<Values> all = leaves(m);
    Values out(kSumElements);
    tree_sum(leaf_summands(all), {0, m}, 0.3F, out);
    EXPECT_TRUE(same_bits(out, sum_by_definition(all, {0, m}, 0.3F))) << m;
  }
}

TEST(TreeSum,
     IsNotJustAnyOrder) {  // the values distinguish orders, which the test above needs
  const std::vector<Values> all = leaves(8);
  Values running(kSumElements);
  for (const Values& values : all) {
    add_in_place(running.data(), values.data(), kSumElements);
  }
  EXPECT_FALSE(same_bits(running, sum_by_definition(all, {0, 8}, 1.0F)));
}

TEST(TreeSum, GivesTheSameBitsForAnySlicing) {
  const std::vector<Values> all = leaves(7);
  const Values whole = sum_by_definition(all, {0, 7}, 1.0F);
  for (const std::size_t slice : {1U, 3U, 64U, 1000U, 2048U, 2049U, 4096U}) {
    Values out(kSumElements);
    for (std::size_t begin = 0; begin < kSumElements; begin += slice) {
      const std::size_t size = std::min(slice, kSumElements - begin);
      tree_sum(leaf_summands(all), {0, 7}, 1.0F, std::span(out).subspan(begin, size), begin);
    }
    EXPECT_TRUE(same_bits(out, whole)) << slice;
  }
}

TEST(TreeSum, GivesTheSameBitsForAnyCutIntoPartials) {
  for (int m = 1; m <= 9; ++m) {
    const std::vector<Values> all = leaves(m);
    const Values whole = sum_by_definition(all, {0, m}, 0.125F);
    for (int cut = 0; cut <= m; ++cut) {
      std::vector<Values> sums;
      std::vector<MicrobatchRange> subtrees;
      for (const MicrobatchRange range : {MicrobatchRange{0, cut}, MicrobatchRange{cut, m}}) {
        for (const MicrobatchRange& subtree : whole_subtrees(range, m)) {
          subtrees.push_back(subtree);
          sums.push_back(sum_by_definition(all, subtree, 1.0F));
        }
      }
      std::vector<TreeSummand> summands;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        summands.push_back({subtrees[i], sums[i].data()});
      }
      Values out(kSumElements);
      tree_sum(summands, {0, m}, 0.125F, out);
      ASSERT_TRUE(same_bits(out, whole)) << "cut at " << cut << " of " << m;
    }
  }
}

TEST(TreeSum, SumsASubtreeAsThePartOfTheWholeThatItIs) {
  const std::vector<Values> all = leaves(7);
  for (const MicrobatchRange root :
       {MicrobatchRange{0, 3}, MicrobatchRange{3, 7}, MicrobatchRange{5, 7}}) {
    const std::vector<TreeSummand> summands = leaf_summands(all);
    Values out(kSumElements);
    tree_sum(std::span(summands).subspan(static_cast<std::size_t>(root.begin),
                                         static_cast<std::size_t>(root.size())),
             root, 1.0F, out);
    EXPECT_TRUE(same_bits(out, sum_by_definition(all, root, 1.0F))) << root.begin;
  }
}

TEST(TreeSum, RefusesSummandsThatDoNotCoverTheTree) {
  const std::vector<Values> all = leaves(4);
  const std::vector<TreeSummand> complete = leaf_summands(all);
  Values out(kSumElements);
  const auto sum = [&](std::vector<TreeSummand> summands) {
    tree_sum(summands, {0, 4}, 1.0F, out);
  };
  EXPECT_THROW(sum({}), InvariantError);
  EXPECT_THROW(sum({complete[0], complete[1], complete[2]}), InvariantError);
  EXPECT_THROW(sum({complete[0], complete[2], complete[3]}), InvariantError);
  EXPECT_THROW(sum({complete[0], complete[1], complete[2], complete[3], complete[3]}),
               InvariantError);
  EXPECT_THROW(sum({complete[0], {{1, 3}, all[1].data()}, complete[3]}), InvariantError);
}

TEST(BlockSum, AddsTheSquaresOfABlockExactlyWhereDoublesAreExact) {
  const Values block(kBlockElements, 3.0F);
  EXPECT_EQ(block_sum_of_squares(block.data()), 9.0 * kBlockElements);
}

TEST(BlockSum, CountsEveryElementOnce) {
  Values block(kBlockElements);
  for (std::size_t i = 0; i < kBlockElements; i += 13) {
    block[i] = 1024.0F;
    ASSERT_EQ(block_sum_of_squares(block.data()), 1024.0 * 1024.0) << i;
    block[i] = 0.0F;
  }
}

TEST(BlockSum, DoesNotOverflowWhereFloatsWould) {
  const Values block(kBlockElements, 1e30F);
  EXPECT_NEAR(block_sum_of_squares(block.data()) / (1e60 * kBlockElements), 1.0, 1e-6);
}

TEST(BlockSum, FollowsEightLanesAndThenATree) {
  Values block(kBlockElements);
  for (std::size_t i = 0; i < kBlockElements; ++i) {
    block[i] = scattered(i);
  }
  std::vector<double> lanes(8);
  for (std::size_t i = 0; i < kBlockElements; ++i) {
    lanes[i % 8] += static_cast<double>(block[i]) * static_cast<double>(block[i]);
  }
  const double expected = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  EXPECT_EQ(block_sum_of_squares(block.data()), expected);
}

TEST(PairwiseSum, IsZeroForNothing) { EXPECT_EQ(pairwise_sum({}), 0.0); }

TEST(PairwiseSum, SplitsAtTheMiddleWithTheSmallerHalfFirst) {
  const std::vector<double> values{1e16, 1.0, 1.0};  // 1e16 + 1 is 1e16, 1e16 + 2 is not
  EXPECT_EQ(pairwise_sum(values), 1e16 + 2.0);
  const std::vector<double> other{1.0, 1e16, 1.0};
  EXPECT_EQ(pairwise_sum(other), 1e16);
}

}  // namespace
}  // namespace gangway::comm
