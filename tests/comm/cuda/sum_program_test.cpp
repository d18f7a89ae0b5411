// SPDX-License-Identifier: MIT
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/arena/tree_sum.hpp"
#include "comm/cuda/compile_sum.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

float run(const SumProgram& program, const std::vector<float>& summands) {
  std::vector<float> waiting(static_cast<std::size_t>(program.depth));
  return run_sum_program<float>(
      program, [&](int i) { return summands[static_cast<std::size_t>(i)]; }, waiting.data(), 1);
}

/// The partials of all workers, one value each, with their tree sum.
struct OneElement {
  std::vector<MicrobatchRange> subtrees;
  std::vector<float> values;
  float expected = 0.0F;

  OneElement(int num_microbatches, int num_workers) {
    for (const MicrobatchRange& range : toy_ranges(num_microbatches, num_workers)) {
      for (const MicrobatchRange& subtree : whole_subtrees(range, num_microbatches)) {
        subtrees.push_back(subtree);
        values.push_back(scattered(values.size() + 77U));
      }
    }
    std::vector<TreeSummand> summands;
    for (std::size_t i = 0; i < values.size(); ++i) {
      summands.push_back({subtrees[i], &values[i]});
    }
    tree_sum(summands, {0, num_microbatches}, 1.0F, {&expected, 1});
  }
};

TEST(SumProgram, AddsInTheOrderOfTheTree) {
  for (int num_microbatches = 1; num_microbatches <= 40; ++num_microbatches) {
    for (int num_workers = 1; num_workers <= 9; ++num_workers) {
      const OneElement one(num_microbatches, num_workers);
      const float sum = run(tree_sum_program(one.subtrees, {0, num_microbatches}), one.values);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(sum), std::bit_cast<std::uint32_t>(one.expected))
          << num_microbatches << " micro-batches, " << num_workers << " workers";
    }
  }
}

TEST(SumProgram, NamesTheOrderOfSixMicrobatches) {
  // ((0 + (1 + 2)) + (3 + (4 + 5))), the order in docs/numerics.md.
  const std::vector<MicrobatchRange> leaves{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}};
  const SumProgram program = tree_sum_program(leaves, {0, 6});
  EXPECT_EQ(program.num_summands, 6);
  EXPECT_EQ(program.depth, 3);
  EXPECT_THAT(std::vector<int>(program.merges, program.merges + 6),
              testing::ElementsAre(0, 0, 2, 0, 0, 3));
}

TEST(SumProgram, HasRoomForTheWaitingSumsOfTheDeepestTree) {
  const int num_microbatches = 1 << kMaxSumDepth;
  std::vector<MicrobatchRange> subtrees =
      whole_subtrees({0, num_microbatches - 1}, num_microbatches);
  subtrees.push_back({num_microbatches - 1, num_microbatches});
  EXPECT_EQ(tree_sum_program(subtrees, {0, num_microbatches}).depth, kMaxSumDepth);
}

TEST(SumProgram, RefusesPartialsThatDoNotCoverTheMicrobatches) {
  const std::vector<MicrobatchRange> gap{{0, 1}, {2, 4}};
  const std::vector<MicrobatchRange> not_whole{{0, 1}, {1, 3}, {3, 4}};
  const std::vector<MicrobatchRange> too_many{{0, 2}, {2, 4}, {4, 6}};
  EXPECT_THROW((void)tree_sum_program(gap, {0, 4}), InvariantError);
  EXPECT_THROW((void)tree_sum_program(not_whole, {0, 4}), InvariantError);
  EXPECT_THROW((void)tree_sum_program(too_many, {0, 4}), InvariantError);
  EXPECT_THROW((void)tree_sum_program({}, {0, 4}), InvariantError);
}

TEST(SumProgram, RefusesMoreSummandsThanAKernelTakes) {
  std::vector<MicrobatchRange> leaves;
  for (int i = 0; i <= kMaxSummands; ++i) {
    leaves.push_back({i, i + 1});
  }
  EXPECT_THROW((void)tree_sum_program(leaves, {0, kMaxSummands + 1}), InvariantError);
  leaves.pop_back();
  EXPECT_EQ(tree_sum_program(leaves, {0, kMaxSummands}).num_summands, kMaxSummands);
  EXPECT_THROW((void)running_sum_program(kMaxSummands + 1), InvariantError);
  EXPECT_THROW((void)running_sum_program(0), InvariantError);
}

TEST(SumProgram, ARunningSumGoesFromLeftToRight) {
  const std::vector<float> values{1.0F, 0x1p-24F, 0x1p-24F, -1.0F};
  EXPECT_EQ(run(running_sum_program(1), values), 1.0F);
  EXPECT_EQ(run(running_sum_program(4), values), 0.0F) << "the small ones are lost one by one";
}

}  // namespace
}  // namespace gangway::comm
