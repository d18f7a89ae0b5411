// SPDX-License-Identifier: MIT
#include "comm/partial_stack.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kElements = 100;
constexpr int kMost = 9;

std::vector<float> leaf(int microbatch) {
  std::vector<float> values;
  for (std::size_t i = 0; i < kElements; ++i) {
    values.push_back(scattered(static_cast<std::uint64_t>(microbatch) * 1000 + i));
  }
  return values;
}

/// The definition of the sum, written as the definition.
std::vector<float> sum_of(MicrobatchRange node) {
  if (node.size() == 1) {
    return leaf(node.begin);
  }
  std::vector<float> left = sum_of({node.begin, split_point(node)});
  const std::vector<float> right = sum_of({split_point(node), node.end});
  for (std::size_t i = 0; i < kElements; ++i) {
    left[i] = left[i] + right[i];
  }
  return left;
}

void push_range(PartialStack& stack, MicrobatchRange range) {
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    Arena& arena = stack.open_leaf();
    const std::vector<float> values = leaf(microbatch);
    for (std::size_t i = 0; i < kElements; ++i) {
      arena.data()[i] += values[i];
    }
    stack.push(microbatch);
  }
}

void expect_partials(const PartialStack& stack, MicrobatchRange range, int m) {
  const std::vector<MicrobatchRange> expected = whole_subtrees(range, m);
  ASSERT_EQ(stack.partials().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PartialStack::Partial& partial = stack.partials()[i];
    ASSERT_EQ(partial.microbatches, expected[i]);
    ASSERT_TRUE(same_bits({partial.sum, kElements}, sum_of(expected[i])));
  }
}

template <typename Check>
void for_every_range(const Check& check) {
  for (int m = 1; m <= kMost; ++m) {
    for (int begin = 0; begin < m; ++begin) {
      for (int end = begin + 1; end <= m; ++end) {
        SCOPED_TRACE(testing::Message() << "[" << begin << ", " << end << ") of " << m);
        check(MicrobatchRange{begin, end}, m);
      }
    }
  }
}

TEST(PartialStack, LeavesTheWholeSubtreesOfItsRangeBitForBit) {
  for_every_range([](MicrobatchRange range, int m) {
    PartialStack stack(kElements, m);
    push_range(stack, range);
    expect_partials(stack, range, m);
  });
}

TEST(PartialStack, NeedsAboutLogTwoBuffersForARangeThatIsAWholeSubtree) {
  for (const int m : {1, 2, 4, 8, 16}) {
    PartialStack stack(kElements, m);
    push_range(stack, {0, m});
    EXPECT_LE(stack.num_buffers(), static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(m)))) << m;
  }
}

TEST(PartialStack, NeedsFewBuffersForAnyRange) {
  for_every_range([](MicrobatchRange range, int m) {
    PartialStack stack(kElements, m);
    push_range(stack, range);
    const auto log_two = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(range.size())));
    // One more than the partials that remain, or the height of the subtree under construction beside those before it.
    ASSERT_LE(stack.num_buffers(), whole_subtrees(range, m).size() + log_two);
  });
}

TEST(PartialStack, GivesTheSameSumsWithTheBuffersOfAnEarlierPhase) {
  for_every_range([](MicrobatchRange range, int m) {
    PartialStack stack(kElements, m);
    push_range(stack, range);
    const std::size_t buffers = stack.num_buffers();
    stack.clear();
    EXPECT_TRUE(stack.partials().empty());
    push_range(stack, range);
    expect_partials(stack, range, m);
    ASSERT_EQ(stack.num_buffers(), buffers);
  });
}

TEST(PartialStack, OpensZeroedLeaves) {
  PartialStack stack(kElements, 4);
  push_range(stack, {0, 4});
  stack.clear();
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    for (const float value : stack.open_leaf().range({0, kElements})) {
      ASSERT_EQ(value, 0.0F);
    }
    stack.push(microbatch);
  }
}

TEST(PartialStack, ForgetsALeafThatWasOpenedButNotPushed) {
  PartialStack stack(kElements, 2);
  stack.open_leaf().data()[3] = 8.0F;
  push_range(stack, {0, 2});
  expect_partials(stack, {0, 2}, 2);
}

}  // namespace
}  // namespace gangway::comm
