// SPDX-License-Identifier: MIT
#include "comm/host/host_streams.hpp"

#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kCapacity = 100;
constexpr auto kPatience = 20s;

/// Workers of a host as threads, each with streams to `peers(worker)`.
void run_host(int workers, const std::function<std::vector<int>(int)>& peers,
              const std::function<void(int, HostStreams&)>& body) {
  const gangway::testing::SharedFolder folder;
  std::vector<int> members;
  for (int worker = 0; worker < workers; ++worker) {
    members.push_back(worker);
  }
  spawn_ranks(workers, [&](int worker) {
    HostMemory memory({.members = members,
                       .worker = worker,
                       .epoch = 1,
                       .token = "test",
                       .num_flags = 1,
                       .directory = folder.path()});
    StreamMemory own(memory, peers(worker), kCapacity);
    const HostGroup group = std::move(memory).connect(7, Deadline(kPatience));
    HostStreams streams(own, group);
    body(worker, streams);
  });
  EXPECT_THAT(folder.names(), IsEmpty());
}

std::vector<int> the_other(int worker) { return {1 - worker}; }

std::byte byte_at(std::size_t place) { return static_cast<std::byte>(place * 7 + place / 251); }

/// Writes and reads streams of `total` bytes each way at once, in pieces of all sizes.
void exchange(HostStreams& streams, int peer, std::size_t total) {
  std::size_t sent = 0;
  std::size_t received = 0;
  const Deadline deadline(kPatience);
  while (sent < total || received < total) {
    ASSERT_FALSE(deadline.expired());
    std::vector<std::byte> out(std::min(total - sent, 1 + sent % 170));
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = byte_at(sent + i);
    }
    sent += streams.write(peer, out);
    std::vector<std::byte> in(std::min(total - received, 1 + received % 130));
    const std::size_t count = streams.read(peer, in);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(in[i], byte_at(received + i)) << "byte " << received + i;
    }
    received += count;
    std::this_thread::yield();
  }
}

TEST(HostStreams, CarryEveryByteInItsPlaceBothWaysPastTheEndOfTheRing) {
  run_host(2, the_other,
           [](int worker, HostStreams& streams) { exchange(streams, 1 - worker, 40'000); });
}

TEST(HostStreams, KeepThoseOfSeveralWorkersApart) {
  const auto others = [](int worker) {
    return worker == 1 ? std::vector<int>{0, 2} : std::vector<int>{1};
  };
  run_host(3, others, [](int worker, HostStreams& streams) {
    EXPECT_EQ(streams.reach(0), worker == 1);
    if (worker == 1) {
      exchange(streams, 0, 5'000);
      exchange(streams, 2, 3'000);
    } else {
      exchange(streams, 1, worker == 0 ? 5'000 : 3'000);
    }
  });
}

TEST(HostStreams, TakeNoMoreThanThereIsRoomFor) {
  std::latch full(2);  // nothing is taken before the second write has found no room
  run_host(2, the_other, [&](int worker, HostStreams& streams) {
    std::vector<std::byte> bytes(2 * kCapacity, std::byte{9});
    if (worker == 0) {
      EXPECT_EQ(streams.write(1, bytes), kCapacity);
      EXPECT_EQ(streams.write(1, bytes), 0U);
      EXPECT_EQ(streams.write(1, {}), 0U);
      full.arrive_and_wait();
      return;
    }
    full.arrive_and_wait();
    EXPECT_EQ(streams.read(0, bytes), kCapacity);
    EXPECT_EQ(streams.read(0, bytes), 0U);
  });
}

TEST(HostStreams, AreNoneWhereNobodyAsks) {
  run_host(
      2, [](int) { return std::vector<int>{}; },
      [](int worker, HostStreams& streams) { EXPECT_FALSE(streams.reach(1 - worker)); });
}

TEST(HostStreams, AreRefusedWhereTheOtherHasNone) {
  const auto one_sided = [](int worker) {
    return worker == 0 ? std::vector<int>{} : std::vector<int>{0};
  };
  try {
    run_host(2, one_sided, [](int, HostStreams&) {});
    FAIL() << "worker 1 names worker 0, which does not name it";
  } catch (const InvariantError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 2 has a stream to rank 1, which has none"));
  }
}

}  // namespace
}  // namespace gangway::comm
