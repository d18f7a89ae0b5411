// SPDX-License-Identifier: MIT
#include "comm/reduce/partial_stack.hpp"

#include <bit>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/host/host_group.hpp"
#include "tests/comm/lone_group.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

constexpr std::size_t kStackElements = 100;
constexpr int kMostLeaves = 9;

std::vector<float> leaf(int microbatch) {
  std::vector<float> values;
  for (std::size_t i = 0; i < kStackElements; ++i) {
    values.push_back(scattered(static_cast<std::uint64_t>(microbatch) * 1000 + i));
  }
  return values;
}

/// Computes the sum by its definition.
std::vector<float> sum_of(MicrobatchRange node) {
  if (node.size() == 1) {
    return leaf(node.begin);
  }
  std::vector<float> left = sum_of({node.begin, split_point(node)});
  const std::vector<float> right = sum_of({split_point(node), node.end});
  for (std::size_t i = 0; i < kStackElements; ++i) {
    left[i] = left[i] + right[i];
  }
  return left;
}

void push_range(PartialStack& stack, MicrobatchRange range) {
  for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
    float* const gradient = stack.open_leaf();
    const std::vector<float> values = leaf(microbatch);
    for (std::size_t i = 0; i < kStackElements; ++i) {
      gradient[i] += values[i];
    }
    stack.push(microbatch);
  }
}

/// Folds adjacent ranges, as for buckets.
void fold_in_pieces(PartialStack& stack) {
  stack.fold({64, kStackElements});
  stack.fold({0, 1});
  stack.fold({1, 64});
}

void expect_partials(const PartialStack& stack, MicrobatchRange range, int m) {
  const std::vector<MicrobatchRange> expected = whole_subtrees(range, m);
  ASSERT_EQ(stack.partials().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(stack.partials()[i], expected[i]);
    ASSERT_TRUE(same_bits({stack.partial(i), kStackElements}, sum_of(expected[i])));
  }
}

template <typename Check>
void for_every_stack(const Check& check) {
  for (int m = 1; m <= kMostLeaves; ++m) {
    for (int begin = 0; begin < m; ++begin) {
      for (int end = begin + 1; end <= m; ++end) {
        SCOPED_TRACE(testing::Message() << "[" << begin << ", " << end << ") of " << m);
        HostMemory host = HostMemory::alone(0, 0);
        check(PartialStack(host, kStackElements, {begin, end}, m), MicrobatchRange{begin, end}, m);
      }
    }
  }
}

TEST(PartialStack, LeavesTheWholeSubtreesOfItsRangeBitForBit) {
  for_every_stack([](PartialStack stack, MicrobatchRange range, int m) {
    push_range(stack, range);
    fold_in_pieces(stack);
    expect_partials(stack, range, m);
  });
}

TEST(PartialStack, FoldsOnlyTheRangesThatItIsTold) {
  HostMemory host = HostMemory::alone(0, 0);
  PartialStack stack(host, kStackElements, {0, 4}, 4);
  push_range(stack, {0, 4});
  stack.fold({10, 20});
  const std::vector<float> half = sum_of({0, 2});
  const std::vector<float> whole = sum_of({0, 4});
  for (std::size_t i = 0; i < kStackElements; ++i) {
    ASSERT_EQ(stack.partial(0)[i], i >= 10 && i < 20 ? whole[i] : half[i]) << i;
  }
}

TEST(PartialStack, NeedsAboutLogTwoBuffersForARangeThatIsAWholeSubtree) {
  HostMemory host = HostMemory::alone(0, 0);
  for (const int m : {1, 2, 4, 8, 16}) {
    const PartialStack stack(host, kStackElements, {0, m}, m);
    EXPECT_LE(stack.num_elements() / kStackElements,
              static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(m))))
        << m;
  }
}

TEST(PartialStack, NeedsFewBuffersForAnyRange) {
  for_every_stack([](const PartialStack& stack, MicrobatchRange range, int m) {
    const auto log_two =
        static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(range.size())));
    // One more than the remaining partials, or the height of the growing subtree and the partials
    // before it.
    ASSERT_LE(stack.num_elements() / kStackElements, whole_subtrees(range, m).size() + log_two);
  });
}

TEST(PartialStack, LaysItsBuffersOneBehindTheOtherInTheMemoryOfTheHost) {
  for_every_stack([](const PartialStack& stack, MicrobatchRange, int) {
    for (std::size_t i = 0; i < stack.partials().size(); ++i) {
      ASSERT_EQ(stack.partial(i), stack.partial(0) + i * kStackElements);
    }
  });
  HostMemory host = HostMemory::alone(0, 0);
  const Arena other = host.allocate_own(7);
  const PartialStack stack(host, kStackElements, {0, 3}, 3);
  EXPECT_EQ(stack.host_index(), 1U);
  EXPECT_EQ(connected(std::move(host)).own_memory(0, stack.host_index()), stack.partial(0));
}

TEST(PartialStack, GivesTheSameSumsInTheNextPhase) {
  for_every_stack([](PartialStack stack, MicrobatchRange range, int m) {
    push_range(stack, range);
    fold_in_pieces(stack);
    push_range(stack, range);
    fold_in_pieces(stack);
    expect_partials(stack, range, m);
  });
}

TEST(PartialStack, OpensZeroedLeaves) {
  HostMemory host = HostMemory::alone(0, 0);
  PartialStack stack(host, kStackElements, {0, 4}, 4);
  push_range(stack, {0, 4});
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    for (const float value : std::span(stack.open_leaf(), kStackElements)) {
      ASSERT_EQ(value, 0.0F);
    }
    stack.push(microbatch);
  }
}

TEST(PartialStack, ForgetsALeafThatWasOpenedButNotPushed) {
  HostMemory host = HostMemory::alone(0, 0);
  PartialStack stack(host, kStackElements, {0, 2}, 2);
  stack.open_leaf()[3] = 8.0F;
  push_range(stack, {0, 2});
  fold_in_pieces(stack);
  expect_partials(stack, {0, 2}, 2);
}

TEST(PartialStack, RefusesAMicrobatchOutOfTurn) {
  HostMemory host = HostMemory::alone(0, 0);
  PartialStack stack(host, kStackElements, {2, 4}, 4);
  (void)stack.open_leaf();
  EXPECT_THROW(stack.push(3), InvariantError);
  EXPECT_THROW(stack.push(0), InvariantError);
  stack.push(2);
  EXPECT_THROW(stack.push(2), InvariantError);
  stack.push(3);
  EXPECT_THROW(stack.push(4), InvariantError);  // the leaf after the last was not opened
}

TEST(PartialStack, OfAWorkerWithoutMicrobatchesHoldsNothing) {
  HostMemory host = HostMemory::alone(0, 0);
  PartialStack stack(host, kStackElements, {1, 1}, 1);
  stack.fold({0, kStackElements});
  EXPECT_TRUE(stack.partials().empty());
  EXPECT_EQ(stack.num_elements(), 0U);
}

}  // namespace
}  // namespace gangway::comm
