// SPDX-License-Identifier: MIT
#include "comm/transport/segments.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gangway::comm {
namespace {

// Open MPI's eager limit: larger messages need a handshake. Less its longest header.
constexpr std::size_t kEager = 65536 - 64;

std::vector<std::size_t> sizes_of(std::size_t bytes) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < num_segments(bytes); ++i) {
    sizes.push_back(segment_begin(bytes, i + 1) - segment_begin(bytes, i));
  }
  return sizes;
}

TEST(Segments, JoinToTheMessageAndAreSentAtOnce) {
  for (const std::size_t bytes :
       {0UL, 1UL, 16384UL, kMostSegmentBytes, kMostSegmentBytes + 1, 1UL << 20U, 100'000'001UL}) {
    std::size_t sum = 0;
    for (const std::size_t size : sizes_of(bytes)) {
      EXPECT_LE(size, kEager);
      EXPECT_TRUE(size > 0 || bytes == 0);
      sum += size;
    }
    EXPECT_EQ(sum, bytes);
  }
}

TEST(Segments, OfAMessageOfAnotherLengthNeverAllFit) {
  std::vector<std::vector<std::size_t>> messages;
  for (std::size_t blocks = 1; blocks <= 60; ++blocks) {
    messages.push_back(sizes_of(blocks * 16384));
    messages.push_back(sizes_of(blocks * kMostSegmentBytes));
  }
  for (std::size_t a = 0; a < messages.size(); ++a) {
    for (std::size_t b = 0; b < messages.size(); ++b) {
      const bool is_longer = messages[a].size() < messages[b].size();
      if (is_longer) {
        EXPECT_FALSE(std::equal(messages[a].begin(), messages[a].end(), messages[b].begin()))
            << a << " " << b;
      }
    }
  }
}

}  // namespace
}  // namespace gangway::comm
