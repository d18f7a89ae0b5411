// SPDX-License-Identifier: MIT
#include "coordinator/http/web/event_ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::HasSubstr;

std::string all_after(const EventRing& ring, std::uint64_t number) {
  std::string text;
  while (const auto next = ring.after(number)) {
    text += *next->text;
    number = next->number;
  }
  return text;
}

TEST(EventRing, WritesAnEventAsTheStandardHasIt) {
  EventRing ring("7-41");
  ring.push("tick", "{\"step\":1}", EventWorth::kEach);
  EXPECT_EQ(all_after(ring, 0), "id: 7-41.1\nevent: tick\ndata: {\"step\":1}\n\n");
}

TEST(EventRing, KeepsOfWhatIsSupersededTheNewestAlone) {
  EventRing ring("a");
  ring.push("status", "1", EventWorth::kNewestOnly);
  ring.push("tick", "2", EventWorth::kEach);
  ring.push("status", "3", EventWorth::kNewestOnly);
  EXPECT_EQ(all_after(ring, 0),
            "id: a.2\nevent: tick\ndata: 2\n\nid: a.3\nevent: status\ndata: 3\n\n");
  EXPECT_FALSE(ring.has_dropped_after(0));
}

TEST(EventRing, BeginsWithHowItStandsForWhoComesAnew) {
  EventRing ring("a");
  EXPECT_EQ(ring.before_newest(), 0U);
  ring.push("tick", "1", EventWorth::kEach);
  ring.push("status", "2", EventWorth::kNewestOnly);
  ring.push("tick", "3", EventWorth::kEach);
  EXPECT_EQ(ring.before_newest(), 1U);
}

TEST(EventRing, ForgetsTheOldestAndSaysSo) {
  EventRing ring("a", {.messages = 2});
  for (const char* data : {"1", "2", "3"}) {
    ring.push("tick", data, EventWorth::kEach);
  }
  EXPECT_TRUE(ring.has_dropped_after(0));
  EXPECT_FALSE(ring.has_dropped_after(1));
  EXPECT_THAT(all_after(ring, 0), HasSubstr("data: 2"));
}

TEST(EventRing, HoldsNoMoreBytesThanItMayButTheNewest) {
  EventRing ring("a", {.bytes = 100});
  ring.push("tick", "1", EventWorth::kEach);
  ring.push("tick", std::string(1000, 'x'), EventWorth::kEach);
  EXPECT_TRUE(ring.has_dropped_after(0));
  EXPECT_FALSE(ring.has_dropped_after(1));
  EXPECT_EQ(ring.after(0)->number, 2U);
  ring.push("tick", "3", EventWorth::kEach);
  EXPECT_EQ(ring.after(0)->number, 3U);
}

TEST(EventRing, KnowsItsOwnIdsAlone) {
  EventRing ring("12-3");
  ring.push("tick", "1", EventWorth::kEach);
  EXPECT_EQ(ring.number_of("12-3.1"), 1U);
  EXPECT_EQ(ring.number_of("12-3.0"), 0U);
  for (const char* other : {"", "12-3", "12-3.", "12-3.2", "12-31.1", "12-3.1x", "12-3.-1", "1"}) {
    EXPECT_FALSE(ring.number_of(other)) << other;
  }
}

}  // namespace
}  // namespace gangway::coordinator
