// SPDX-License-Identifier: MIT
#include "comm/transport/message_tag.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "run/control_protocol.hpp"

namespace gangway::comm {
namespace {

constexpr int kNetworks = 8;
constexpr int kKinds = 9;
constexpr int kBuckets = 128;
constexpr int kParts = 64;

std::vector<int> tags_of_epoch(std::int64_t epoch) {
  std::vector<int> tags;
  for (int network = 0; network < kNetworks; ++network) {
    for (int kind = 0; kind < kKinds; ++kind) {
      for (int bucket = 0; bucket < kBuckets; ++bucket) {
        for (int part = 0; part < kParts; ++part) {
          tags.push_back(
              MessageTag{epoch, network, static_cast<MessageKind>(kind), bucket, part}.packed());
        }
      }
    }
  }
  return tags;
}

TEST(MessageTag, DiffersForDifferentMessages) {
  std::vector<int> tags = tags_of_epoch(0);
  const std::vector<int> later = tags_of_epoch(1);
  tags.insert(tags.end(), later.begin(), later.end());
  std::ranges::sort(tags);
  EXPECT_TRUE(std::ranges::adjacent_find(tags) == tags.end());
}

TEST(MessageTag, StaysBelowTheControlMessages) {
  for (const std::int64_t epoch : {0, 1, 4095, 4096, 1'000'000}) {
    const std::vector<int> tags = tags_of_epoch(epoch);
    const auto [least, greatest] = std::ranges::minmax(tags);
    EXPECT_GE(least, 0) << "epoch " << epoch;
    EXPECT_LT(greatest, kControlTag) << "epoch " << epoch;
  }
}

TEST(MessageTag, TellsNeighbouringEpochsApartAcrossTheWrap) {
  EXPECT_NE((MessageTag{4095}.packed()), (MessageTag{4096}.packed()));
}

}  // namespace
}  // namespace gangway::comm
