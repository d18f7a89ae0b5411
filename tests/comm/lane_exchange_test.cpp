// SPDX-License-Identifier: MIT
// The lane's exchanges; tests of its tasks are in lane_test.cpp.
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/lane.hpp"
#include "tests/comm/lone_group.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""us;

constexpr auto kLongIdle = std::chrono::hours(1);  // an idle period that does not end within a test
constexpr auto kAtOnce = std::chrono::seconds(20);  // limit for events that must come at once

/// An exchange with a given need, which is done after so many moves.
class Countdown final : public Exchange {
 public:
  explicit Countdown(Need need = Need::kMessages) : need_(need) {}
  void begin(int moves) { left_.store(moves, std::memory_order_release); }
  [[nodiscard]] Need needs() const override {
    return left_.load(std::memory_order_acquire) > 0 ? need_ : Need::kNothing;
  }
  bool advance() override {
    ++polls_;
    if (failure != nullptr) {
      std::rethrow_exception(failure);
    }
    if (stuck || left_.load(std::memory_order_acquire) == 0) {
      return false;
    }
    left_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }
  [[nodiscard]] int polls() const { return polls_; }
  std::exception_ptr failure;
  bool stuck = false;

 private:
  Need need_;
  std::atomic<int> left_ = 0;
  std::atomic<int> polls_ = 0;
};

TEST(LaneExchange, IsDrivenToItsEnd) {
  for (const Exchange::Need need :
       {Exchange::Need::kCompute, Exchange::Need::kHost, Exchange::Need::kMessages}) {
    Countdown exchange(need);
    Lane lane([] {}, 100us);
    lane.attach(exchange);
    for (int i = 0; i < 3; ++i) {
      exchange.begin(5);
      lane.wait(exchange);
      EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
    }
  }
}

TEST(LaneExchange, IsSeenAtOnceWhenComputeWakesTheLane) {
  Countdown exchange;
  Lane lane([] {}, kLongIdle);
  lane.attach(exchange);
  exchange.begin(1);
  lane.wake();
  const auto give_up = std::chrono::steady_clock::now() + kAtOnce;
  while (exchange.needs() != Exchange::Need::kNothing &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
}

TEST(LaneExchange, TakesTurnsWithTheOthers) {
  Countdown first;
  Countdown second;
  Lane lane([] {});
  lane.attach(first);
  lane.attach(second);
  first.begin(1'000'000'000);  // takes longer than the test
  second.begin(3);
  lane.wait(second);
  EXPECT_NE(first.needs(), Exchange::Need::kNothing);
}

TEST(LaneExchange, GoesOnBesideTasks) {
  Countdown exchange;
  Lane lane([] {});
  lane.attach(exchange);
  exchange.begin(1'000'000'000);
  lane.wait(lane.submit([] {}));
  EXPECT_NE(exchange.needs(), Exchange::Need::kNothing);
}

TEST(LaneExchange, DoesNotSilenceThePumpWhereItNeverStandsStill) {
  std::promise<void> pumped;
  std::atomic<int> calls = 0;
  std::atomic<bool> moves = false;
  Lane lane(
      [&] {
        if (moves && ++calls == 3) {
          pumped.set_value();
        }
      },
      kLongIdle);
  Countdown exchange;
  lane.attach(exchange);
  exchange.begin(std::numeric_limits<int>::max());
  moves = true;
  lane.wake();
  EXPECT_EQ(pumped.get_future().wait_for(kAtOnce), std::future_status::ready);
  exchange.begin(0);
  lane.detach(exchange);
}

TEST(LaneExchange, IsChargedForThePumpsOfAWait) {
  constexpr int kPumps = 20;
  std::promise<void> pumped;
  int pumps = 0;
  std::atomic<bool> waits = false;
  Countdown exchange(Exchange::Need::kMessages);  // outlives the lane, whose thread polls it
  exchange.stuck = true;
  Lane lane(
      [&] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (waits && std::chrono::steady_clock::now() < end) {
        }
        if (waits && ++pumps == kPumps) {
          pumped.set_value();
        }
      },
      kLongIdle);
  lane.attach(exchange);
  const TimeLedger::Nanoseconds before = lane.ledger().read();
  exchange.begin(1);
  waits = true;
  lane.wake();
  ASSERT_EQ(pumped.get_future().wait_for(kAtOnce), std::future_status::ready);
  const TimeLedger::Nanoseconds after = lane.ledger().read();
  const auto charged = [&](LanePart part) {
    return after[static_cast<std::size_t>(part)] - before[static_cast<std::size_t>(part)];
  };
  EXPECT_LT(charged(LanePart::kWork), charged(LanePart::kMessages) / 2);
}

TEST(LaneExchange, IsLeftAloneOnceDetached) {
  Countdown exchange;
  Lane lane([] {});
  lane.attach(exchange);
  lane.detach(exchange);
  const int polls = exchange.polls();
  lane.wait(lane.submit([] {}));
  lane.wait(lane.submit([] {}));
  EXPECT_EQ(exchange.polls(), polls);
}

TEST(LaneExchange, FailsTheWaitForItAndForEverythingElse) {
  Countdown failing;
  Countdown other;
  failing.failure = std::make_exception_ptr(CommError("worker 3 is gone"));
  Lane lane([] {}, 100us);
  lane.attach(other);
  other.begin(1'000'000'000);
  lane.submit([] {});
  EXPECT_THROW(
      {
        lane.attach(failing);
        failing.begin(1);
        lane.wait(failing);
      },
      CommError);
  EXPECT_THROW(lane.wait(other), CommError);
  EXPECT_THROW(lane.wait(lane.submit([] {})), CommError);
  EXPECT_NO_THROW(lane.detach(failing));
}

TEST(LaneExchange, IsLeftAloneOnceAnythingHasFailed) {
  Countdown exchange;
  std::atomic<bool> failed = false;
  std::atomic<int> polls = -1;
  std::promise<void> seen;
  int rounds = 0;
  Lane lane(
      [&] {
        if (failed && ++rounds <= 3) {  // the first round may follow the failure directly
          if (rounds == 1) {
            polls = exchange.polls();
          } else if (rounds == 3) {
            seen.set_value();
          }
        }
      },
      100us);
  lane.attach(exchange);
  exchange.begin(1'000'000'000);
  lane.submit([&] {
    failed = true;
    throw std::runtime_error("first");
  });
  ASSERT_EQ(seen.get_future().wait_for(kAtOnce), std::future_status::ready);
  EXPECT_EQ(exchange.polls(), polls);
}

TEST(LaneExchange, IsWokenByTheBellOfItsHost) {
  HostGroup host = lone_group(1);
  Countdown exchange(Exchange::Need::kHost);
  Lane lane([] {}, kLongIdle);
  lane.attach(exchange);
  lane.listen_to(host, Lane::Core::kShared);
  exchange.begin(1);
  lane.wake();
  host.publish(0, 1);
  lane.wait(exchange);
  lane.stop_listening();
  EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
}

TEST(LaneExchange, IsSeenAtOnceWhenComputeWakesALaneThatListensToTheBell) {
  HostGroup host = lone_group(1);
  Countdown waiting(Exchange::Need::kHost);
  waiting.stuck = true;
  Lane lane([] {});
  lane.attach(waiting);
  lane.listen_to(host, Lane::Core::kShared);
  waiting.begin(1);
  lane.wake();
  int rounds = 0;
  const auto give_up = std::chrono::steady_clock::now() + kAtOnce;
  const std::uint32_t silent = host.bell();
  while (host.bell() == silent && ++rounds < 1'000'000 &&
         std::chrono::steady_clock::now() < give_up) {
    lane.wake();  // rings when the lane sleeps on the bell
    std::this_thread::yield();
  }
  EXPECT_NE(host.bell(), silent);
  lane.stop_listening();
}

TEST(LaneExchange, IsDrivenWithoutSleepByALaneOnItsOwnCore) {
  HostGroup host = lone_group(1);
  Countdown exchange(Exchange::Need::kHost);
  Lane lane([] {}, kLongIdle);
  lane.attach(exchange);
  lane.listen_to(host, Lane::Core::kOwn);
  exchange.begin(100);
  lane.wait(exchange);
  lane.stop_listening();
  EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
}

}  // namespace
}  // namespace gangway::comm
