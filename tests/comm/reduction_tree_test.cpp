// SPDX-License-Identifier: MIT
#include "comm/arena/reduction_tree.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

constexpr int kMost = 16;

void collect_nodes(MicrobatchRange node, std::vector<MicrobatchRange>& nodes) {
  nodes.push_back(node);
  if (node.size() > 1) {
    collect_nodes({node.begin, split_point(node)}, nodes);
    collect_nodes({split_point(node), node.end}, nodes);
  }
}

std::vector<MicrobatchRange> all_nodes(int num_microbatches) {
  std::vector<MicrobatchRange> nodes;
  collect_nodes({0, num_microbatches}, nodes);
  return nodes;
}

/// Returns the smallest number of nodes that join to `range`, by dynamic programming over all
/// nodes. Does not use the tree's shape.
int fewest(MicrobatchRange range, const std::vector<MicrobatchRange>& nodes) {
  std::vector<int> best(static_cast<std::size_t>(range.end) + 1, 1000);
  best[static_cast<std::size_t>(range.begin)] = 0;
  for (int end = range.begin + 1; end <= range.end; ++end) {
    for (const MicrobatchRange& node : nodes) {
      if (node.end == end && node.begin >= range.begin) {
        int& current = best[static_cast<std::size_t>(end)];
        current = std::min(current, best[static_cast<std::size_t>(node.begin)] + 1);
      }
    }
  }
  return best[static_cast<std::size_t>(range.end)];
}

template <typename Check>
void for_every_range(const Check& check) {
  for (int m = 1; m <= kMost; ++m) {
    for (int begin = 0; begin <= m; ++begin) {
      for (int end = begin; end <= m; ++end) {
        SCOPED_TRACE(testing::Message() << "[" << begin << ", " << end << ") of " << m);
        check(MicrobatchRange{begin, end}, m);
      }
    }
  }
}

TEST(ReductionTree, SplitsAtTheMiddleWithTheSmallerHalfFirst) {
  EXPECT_EQ(split_point({0, 2}), 1);
  EXPECT_EQ(split_point({0, 3}), 1);
  EXPECT_EQ(split_point({4, 9}), 6);
}

TEST(ReductionTree, CoversEveryRangeExactlyFromLeftToRight) {
  for_every_range([](MicrobatchRange range, int m) {
    int at = range.begin;
    for (const MicrobatchRange& subtree : whole_subtrees(range, m)) {
      ASSERT_EQ(subtree.begin, at);
      at = subtree.end;
    }
    ASSERT_EQ(at, range.end);
  });
}

TEST(ReductionTree, UsesOnlyNodesOfTheTree) {
  for_every_range([](MicrobatchRange range, int m) {
    const std::vector<MicrobatchRange> nodes = all_nodes(m);
    for (const MicrobatchRange& subtree : whole_subtrees(range, m)) {
      ASSERT_TRUE(std::ranges::find(nodes, subtree) != nodes.end());
    }
  });
}

TEST(ReductionTree, UsesTheFewestSubtrees) {
  for_every_range([](MicrobatchRange range, int m) {
    ASSERT_EQ(static_cast<int>(whole_subtrees(range, m).size()), fewest(range, all_nodes(m)));
  });
}

TEST(ReductionTree, NeedsNoSubtreeForNoMicrobatch) {
  EXPECT_TRUE(whole_subtrees({2, 2}, 4).empty());
}

TEST(ReductionTree, KnowsTheParentOfEveryNode) {
  for (int m = 1; m <= kMost; ++m) {
    for (const MicrobatchRange& node : all_nodes(m)) {
      if (node.size() > 1) {
        EXPECT_EQ(parent_of({node.begin, split_point(node)}, m), node);
        EXPECT_EQ(parent_of({split_point(node), node.end}, m), node);
      }
    }
  }
}

TEST(ReductionTree, MakesTheRootItsOwnParent) {
  EXPECT_EQ(parent_of({0, 1}, 1), (MicrobatchRange{0, 1}));
  EXPECT_EQ(parent_of({0, 12}, 12), (MicrobatchRange{0, 12}));
}

TEST(ReductionTree, RefusesTheParentOfWhatIsNoNode) {
  EXPECT_THROW((void)parent_of({1, 3}, 4), InvariantError);
  EXPECT_THROW((void)parent_of({2, 2}, 4), InvariantError);
  EXPECT_THROW((void)parent_of({4, 5}, 4), InvariantError);
  EXPECT_THROW((void)parent_of({-1, 0}, 4), InvariantError);
}

}  // namespace
}  // namespace gangway::comm
