// SPDX-License-Identifier: MIT
#include "comm/transport/group_transport.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"

namespace gangway::comm {
namespace {

TEST(GroupTransport, NumbersItsMembersAndKnowsTheirNames) {
  LoopbackHub hub(4);
  LoopbackTransport third(hub, 3);
  LoopbackTransport first(hub, 1);
  GroupTransport from(third, {1, 3});
  GroupTransport to(first, {1, 3});
  EXPECT_EQ(from.worker(), 1);
  EXPECT_EQ(from.num_workers(), 2);
  EXPECT_EQ(from.number_of(0), WorkerIndex(1));
  const MessageTag tag{.kind = MessageKind::kScalars};
  const std::vector<float> sent{4.0F};
  std::vector<float> received(1);
  EXPECT_TRUE(from.done(from.start_send(0, tag, std::as_bytes(std::span(sent)))));
  EXPECT_TRUE(to.done(to.start_receive(1, tag, std::as_writable_bytes(std::span(received)))));
  EXPECT_EQ(received, sent);
  LoopbackTransport stranger(hub, 0);
  EXPECT_THROW(GroupTransport(stranger, {1, 3}), InvariantError);
}

}  // namespace
}  // namespace gangway::comm
