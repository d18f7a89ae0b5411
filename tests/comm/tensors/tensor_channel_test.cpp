// SPDX-License-Identifier: MIT
#include "comm/tensors/tensor_channel.hpp"

#include <chrono>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/peer_error.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;

constexpr std::size_t kRing = 4096;  // bytes: small, so that tensors are longer

/// How two workers reach each other.
enum class Way { kMessages, kMemory };

/// Workers as threads, all with all, over `way`; `body(worker, channel, transport)`.
void run_workers(int workers, Way way, const TensorChannelSetup& setup,
                 const std::function<void(int, TensorChannel&, LoopbackTransport&)>& body) {
  const gangway::testing::SharedFolder folder;
  LoopbackHub hub(workers);
  std::vector<int> members(static_cast<std::size_t>(workers));
  std::iota(members.begin(), members.end(), 0);
  spawn_ranks(workers, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    HostMemory memory({.members = way == Way::kMemory ? members : std::vector{worker},
                       .worker = worker,
                       .token = "test",
                       .num_flags = 1,
                       .directory = folder.path()});
    std::vector<int> peers = way == Way::kMemory ? members : std::vector<int>{};
    std::erase(peers, worker);
    StreamMemory own(memory, peers, kRing);
    const HostGroup group = std::move(memory).connect(0, Deadline(20s));
    HostStreams streams(own, group);
    Lane lane([] {});
    lane.listen_to(group, Lane::Core::kShared);
    TensorChannelSetup with_streams = setup;
    with_streams.streams = &streams;
    TensorChannel channel(transport, lane, with_streams);
    body(worker, channel, transport);
  });
}

class TensorChannelTest : public ::testing::TestWithParam<Way> {
 protected:
  static void run(const std::function<void(int, TensorChannel&, LoopbackTransport&)>& body) {
    run_workers(2, GetParam(), {}, body);
  }
};

TensorShape shape_of(std::size_t bytes) {
  return {.type = 6,
          .axes = 2,
          .sizes = {2, static_cast<std::int64_t>(bytes) / 2},
          .strides = {1, 2},
          .bytes = bytes};
}

std::vector<std::byte> bytes_of(std::size_t count, std::size_t first) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<std::byte>(first + i * 5 + i / 253);
  }
  return bytes;
}

void send(TensorChannel& channel, int peer, const TensorKey& key, std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  channel.send(peer, key, shape_of(owner->size()), *owner, owner);
}

void expect_tensor(const ReceivedTensor& tensor, std::size_t count, std::size_t first) {
  EXPECT_EQ(tensor.shape, shape_of(count));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.memory.get()) % 64, 0U);
  const std::vector<std::byte> came(tensor.memory.get(), tensor.memory.get() + count);
  EXPECT_TRUE(came == bytes_of(count, first)) << count << " bytes";
}

TEST_P(TensorChannelTest, FindsATensorByItsKeyInWhateverOrderTheyCome) {
  run([&](int worker, TensorChannel& channel, LoopbackTransport&) {
    if (worker == 0) {
      for (int microbatch = 0; microbatch < 3; ++microbatch) {
        send(channel, 1, {.microbatch = microbatch},
             bytes_of(160'000, 100 * static_cast<std::size_t>(microbatch)));
      }
      channel.finish_sending();
      return;
    }
    channel.expect(0, 3);
    for (const int microbatch : {2, 0, 1}) {
      expect_tensor(channel.receive(0, {.microbatch = microbatch}), 160'000,
                    100 * static_cast<std::size_t>(microbatch));
    }
  });
}

TEST_P(TensorChannelTest, CarriesEverySizeBothWaysAtOnce) {
  constexpr std::size_t kHeader = sizeof(TensorHeader);
  const std::vector<std::size_t> sizes{0,
                                       1,
                                       2,
                                       3,
                                       63,
                                       64,
                                       65,
                                       kRing / 2,
                                       kRing - kHeader - 1,
                                       kRing - kHeader,
                                       kRing,
                                       kRing + 1,
                                       kMostJoinedBytes - 1,
                                       kMostJoinedBytes,
                                       kMostJoinedBytes + 1,
                                       300'001};
  run([&](int worker, TensorChannel& channel, LoopbackTransport&) {
    const int peer = 1 - worker;
    channel.expect(peer, static_cast<int>(sizes.size()));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      send(channel, peer, {.step = 7, .node = static_cast<int>(i)},
           bytes_of(sizes[i], i + static_cast<std::size_t>(worker)));
    }
    for (std::size_t i = sizes.size(); i-- > 0;) {
      expect_tensor(channel.receive(peer, {.step = 7, .node = static_cast<int>(i)}), sizes[i],
                    i + static_cast<std::size_t>(peer));
    }
    channel.finish_sending();
  });
}

TEST_P(TensorChannelTest, CarriesThatThereIsNone) {
  run([](int worker, TensorChannel& channel, LoopbackTransport&) {
    const int peer = 1 - worker;
    channel.expect(peer, 2);
    channel.send(peer, {.step = 7, .is_gradient = 1}, {}, {}, nullptr);
    send(channel, peer, {.step = 7}, bytes_of(8, 1));
    expect_tensor(channel.receive(peer, {.step = 7}), 8, 1);
    EXPECT_EQ(channel.receive(peer, {.step = 7, .is_gradient = 1}).shape.axes, -1);
    channel.finish_sending();
  });
}

TEST_P(TensorChannelTest, NeverWaitsInASendHoweverMuchNobodyTakesYet) {
  constexpr int kMany = 100;
  run([](int worker, TensorChannel& channel, LoopbackTransport&) {
    const int peer = 1 - worker;
    for (int i = 0; i < kMany; ++i) {  // both, before either listens
      send(channel, peer, {.microbatch = i}, bytes_of(1000, static_cast<std::size_t>(i)));
    }
    channel.expect(peer, kMany);
    for (int i = 0; i < kMany; ++i) {
      expect_tensor(channel.receive(peer, {.microbatch = i}), 1000, static_cast<std::size_t>(i));
    }
    channel.finish_sending();
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, TensorChannelTest, ::testing::Values(Way::kMessages, Way::kMemory),
                         [](const auto& instance) {
                           return instance.param == Way::kMemory ? "Memory" : "Messages";
                         });

TEST(TensorChannel, SendsNoMessageToAWorkerOfItsHost) {
  run_workers(2, Way::kMemory, {}, [](int worker, TensorChannel& channel, LoopbackTransport& wire) {
    channel.expect(1 - worker, 1);
    send(channel, 1 - worker, {}, bytes_of(50'000, 3));
    expect_tensor(channel.receive(1 - worker, {}), 50'000, 3);
    channel.finish_sending();
    EXPECT_EQ(wire.bytes_sent(), 0U);
  });
}

TEST(TensorChannel, SendsASmallTensorWithinItsHeadersMessage) {
  for (const std::size_t size : {std::size_t{0}, kMostJoinedBytes, kMostJoinedBytes + 1}) {
    std::atomic<int> messages = 0;
    LoopbackHub hub(2);
    hub.inject([&messages](int, int, MessageTag) {
      ++messages;
      return LoopbackHub::MessageFault{};
    });
    LoopbackTransport transport(hub, 0);
    Lane lane([] {});
    TensorChannel channel(transport, lane, {});
    send(channel, 1, {}, bytes_of(size, 0));
    channel.finish_sending();
    EXPECT_EQ(messages, size > kMostJoinedBytes ? 2 : 1) << size << " bytes";
  }
}

TEST(TensorChannel, LetsNobodyWaitForAnothersFullRing) {
  run_workers(3, Way::kMemory, {}, [](int worker, TensorChannel& channel, LoopbackTransport&) {
    if (worker == 0) {
      send(channel, 1, {}, bytes_of(3 * kRing, 0));  // worker 1 listens when worker 2 has its own
      send(channel, 2, {}, bytes_of(3 * kRing, 5));
    } else if (worker == 2) {
      channel.expect(0, 1);
      expect_tensor(channel.receive(0, {}), 3 * kRing, 5);
      send(channel, 1, {.step = 1}, {});
    } else {
      channel.expect(2, 1);
      (void)channel.receive(2, {.step = 1});
      channel.expect(0, 1);
      expect_tensor(channel.receive(0, {}), 3 * kRing, 0);
    }
    channel.finish_sending();
  });
}

/// What `body` throws.
std::string accusation(int accused, const std::function<void()>& body) {
  try {
    body();
  } catch (const PeerError& error) {
    EXPECT_EQ(error.worker(), WorkerIndex(accused));
    return error.what();
  }
  return "";
}

TEST_P(TensorChannelTest, NamesWhoIsSilent) {
  std::string stall;
  const TensorChannelSetup impatient{
      .timeout = 400ms, .on_stall = [&stall](const std::string& line) { stall = line; }};
  run_workers(2, GetParam(), impatient, [](int worker, TensorChannel& channel, LoopbackTransport&) {
    if (worker == 1) {
      return;  // as one that died: its memory stays as it is
    }
    channel.expect(1, 1);
    EXPECT_THAT(accusation(1, [&] { (void)channel.receive(1, {.step = 3, .microbatch = 2}); }),
                HasSubstr("for rank 2 (a tensor of step 3, micro-batch 2)"));
  });
  EXPECT_THAT(stall, HasSubstr("waited"));
}

TEST(TensorChannel, NamesWhoTakesNothingOfAFullRing) {
  run_workers(2, Way::kMemory, {.timeout = 40ms},
              [](int worker, TensorChannel& channel, LoopbackTransport&) {
                if (worker == 1) {
                  return;
                }
                send(channel, 1, {}, bytes_of(2 * kRing, 0));
                EXPECT_THAT(accusation(1, [&] { channel.finish_sending(); }),
                            HasSubstr("for rank 2 (which takes no tensors)"));
              });
}

}  // namespace
}  // namespace gangway::comm
