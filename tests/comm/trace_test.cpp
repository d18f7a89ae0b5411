// SPDX-License-Identifier: MIT
#include "comm/transport/trace.hpp"

#include <chrono>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "comm/transport/clock_offset.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/traced_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

TEST(TraceRing, KeepsTheNewestEventsAndCountsTheLost) {
  TraceRing<int> ring(3);
  ring.begin();
  for (int event = 0; event < 5; ++event) {
    ring.add(event);
  }
  std::vector<int> kept;
  ring.for_each([&](int event) { kept.push_back(event); });
  EXPECT_EQ(kept, (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(ring.lost(), 2U);
  ring.begin();
  EXPECT_EQ(ring.lost(), 0U) << "a second trace has nothing of the first";
}

TEST(Traced, WritesDownOnlyWhatWasDoneWhileTheRingWasOn) {
  LaneTrace ring(8);
  const LaneEvent event{.work = LaneWork::kSum, .network = 1, .bucket = 2};
  EXPECT_TRUE(traced(nullptr, event, [] { return true; }));
  EXPECT_TRUE(traced(&ring, event, [] { return true; }));
  ring.begin();
  EXPECT_FALSE(traced(&ring, event, [] { return false; }));
  const auto before = TraceClock::now();
  EXPECT_TRUE(traced(&ring, event, [] { return true; }));
  int count = 0;
  ring.for_each([&](const LaneEvent& written) {
    ++count;
    EXPECT_EQ(written.bucket, 2);
    EXPECT_LE(before, written.begin);
    EXPECT_LE(written.begin, written.end);
  });
  EXPECT_EQ(count, 1);
}

TEST(TracedTransport, TellsHowLongEachMessageWasUnderWay) {
  LoopbackHub hub(2);
  hub.inject([](int, int, MessageTag) { return LoopbackHub::MessageFault{.delay = 2ms}; });
  LoopbackTransport sender(hub, 0);
  LoopbackTransport inner(hub, 1);
  TracedTransport receiver(inner, 16);
  receiver.ring().begin();
  const MessageTag tag{.network = 1, .kind = MessageKind::kWeights, .bucket = 3};
  std::vector<std::byte> bytes(8);
  const RequestId request = receiver.start_receive(0, tag, bytes);
  EXPECT_TRUE(sender.done(sender.start_send(1, tag, bytes)));
  const Deadline deadline(10s);
  while (!receiver.done(request)) {
    ASSERT_FALSE(deadline.expired());
    receiver.idle();
  }
  EXPECT_TRUE(receiver.done(receiver.start_send(0, tag, bytes)));
  EXPECT_EQ(receiver.bytes_sent(), bytes.size());
  std::vector<MessageEvent> events;
  receiver.ring().for_each([&](const MessageEvent& event) { events.push_back(event); });
  ASSERT_EQ(events.size(), 2U);
  EXPECT_FALSE(events[0].is_send);
  EXPECT_EQ(events[0].tag.bucket, 3);
  EXPECT_EQ(events[0].bytes, bytes.size());
  EXPECT_GE(events[0].end - events[0].begin, 1ms);
  EXPECT_TRUE(events[1].is_send);
}

TEST(ClockOffset, IsZeroOnTheFirstWorkersHostAndWithinItsErrorElsewhere) {
  LoopbackHub hub(3);
  hub.inject([](int from, int, MessageTag) {  // the clock offset cannot correct unequal delays
    return LoopbackHub::MessageFault{.delay = from == 0 ? 300us : 0us};
  });
  const std::vector<int> hosts{0, 0, 1};
  std::vector<ClockOffset> offsets(3);
  spawn_ranks(3, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    offsets[static_cast<std::size_t>(worker)] = offset_to_first_worker(transport, hosts, 10s);
  });
  EXPECT_EQ(offsets[0].error, 0);
  EXPECT_EQ(offsets[1].nanoseconds, 0);
  EXPECT_EQ(offsets[1].error, 0);
  EXPECT_GT(offsets[2].error, 0);
  EXPECT_LE(std::abs(offsets[2].nanoseconds), offsets[2].error) << "these clocks are one";
}

}  // namespace
}  // namespace gangway::comm
