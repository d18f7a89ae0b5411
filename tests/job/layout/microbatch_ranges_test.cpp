// SPDX-License-Identifier: MIT
#include "job/layout/microbatch_ranges.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(MicrobatchRanges, CoverAllWithoutGapsOrOverlapsInSizesThatDifferByOne) {
  for (int microbatches = 1; microbatches <= 16; ++microbatches) {
    for (int workers = 1; workers <= microbatches; ++workers) {
      int next = 0;
      for (const MicrobatchRange& range : microbatch_ranges(microbatches, workers)) {
        EXPECT_EQ(range.begin, next);
        EXPECT_GE(range.size(), microbatches / workers);
        EXPECT_LE(range.size(), microbatches / workers + 1);
        next = range.end;
      }
      EXPECT_EQ(next, microbatches);
    }
  }
}

TEST(MicrobatchRanges, FollowTheFormula) {
  EXPECT_EQ(microbatch_ranges(8, 3), (std::vector<MicrobatchRange>{{0, 2}, {2, 5}, {5, 8}}));
  EXPECT_EQ(microbatch_range(65'536, 65'535, 65'534), (MicrobatchRange{65'534, 65'536}));
}

}  // namespace
}  // namespace gangway
