// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_channel.hpp"

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/group_transport.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/peer_error.hpp"
#include "tests/comm/spawn_ranks.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using ::testing::HasSubstr;

TensorShape shape_of(std::size_t floats) {
  return {.type = 6,
          .axes = 2,
          .sizes = {2, static_cast<std::int64_t>(floats) / 2},
          .strides = {1, 2},
          .bytes = floats * sizeof(float)};
}

void send(TensorChannel& channel, int peer, const TensorKey& key, std::vector<float> values) {
  const auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  channel.send(peer, key, shape_of(owner->size()), std::as_bytes(std::span(*owner)), owner);
}

std::vector<float> values_of(const ReceivedTensor& tensor) {
  const auto* const first = reinterpret_cast<const float*>(tensor.memory.get());
  return {first, first + tensor.shape.bytes / sizeof(float)};
}

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(TensorChannel, FindsATensorByItsKeyInWhateverOrderTheyCome) {
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    Lane lane([] {});
    TensorChannel channel(transport, lane, {});
    if (worker == 0) {
      for (int microbatch = 0; microbatch < 3; ++microbatch) {
        send(channel, 1, {.microbatch = microbatch},
             numbers(40'000, 100.0F * static_cast<float>(microbatch)));
      }
      channel.finish_sending();
      return;
    }
    channel.expect(0, 3);
    for (const int microbatch : {2, 0, 1}) {
      const ReceivedTensor tensor = channel.receive(0, {.microbatch = microbatch});
      EXPECT_EQ(tensor.shape, shape_of(40'000));
      EXPECT_EQ(values_of(tensor), numbers(40'000, 100.0F * static_cast<float>(microbatch)));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.memory.get()) % 64, 0U);
    }
  });
}

TEST(TensorChannel, CarriesBothWaysAndThatThereIsNone) {
  LoopbackHub hub(2);
  spawn_ranks(2, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    Lane lane([] {});
    TensorChannel channel(transport, lane, {});
    const int peer = 1 - worker;
    channel.expect(peer, 2);
    send(channel, peer, {.step = 7}, numbers(2, static_cast<float>(worker)));
    channel.send(peer, {.step = 7, .is_gradient = 1}, {}, {}, nullptr);
    EXPECT_EQ(values_of(channel.receive(peer, {.step = 7})), numbers(2, static_cast<float>(peer)));
    EXPECT_EQ(channel.receive(peer, {.step = 7, .is_gradient = 1}).shape.axes, -1);
    channel.finish_sending();
  });
}

TEST(TensorChannel, NamesWhoIsSilent) {
  LoopbackHub hub(2);
  LoopbackTransport transport(hub, 0);
  Lane lane([] {});
  std::string stall;
  TensorChannel channel(
      transport, lane,
      {.timeout = 40ms, .on_stall = [&stall](const std::string& line) { stall = line; }});
  channel.expect(1, 1);
  try {
    (void)channel.receive(1, {.step = 3, .microbatch = 2});
    FAIL() << "nothing was sent";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.worker(), 1);
    EXPECT_THAT(error.what(), HasSubstr("for worker 1 (a tensor of step 3, micro-batch 2)"));
  }
  EXPECT_THAT(stall, HasSubstr("waited"));
}

TEST(GroupTransport, NumbersItsMembersAndKnowsTheirNames) {
  LoopbackHub hub(4);
  LoopbackTransport third(hub, 3);
  LoopbackTransport first(hub, 1);
  GroupTransport from(third, {1, 3});
  GroupTransport to(first, {1, 3});
  EXPECT_EQ(from.worker(), 1);
  EXPECT_EQ(from.num_workers(), 2);
  EXPECT_EQ(from.number_of(0), 1);
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
