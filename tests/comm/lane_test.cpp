// SPDX-License-Identifier: MIT
#include "comm/lane.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "job/errors.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""us;
using testing::HasSubstr;

constexpr auto kNever = std::chrono::hours(1);     // an idle period that does not end within a test
constexpr auto kPatience = std::chrono::seconds(20);  // how long a test waits for what must come at once

std::string failure_of(Lane& lane, Lane::Ticket ticket) {
  try {
    lane.wait(ticket);
  } catch (const std::exception& failure) {
    return failure.what();
  }
  return "";
}

TEST(Lane, RunsTasksInTheOrderOfSubmission) {
  std::vector<int> order;
  Lane lane([] {});
  Lane::Ticket last = 0;
  for (int i = 0; i < 200; ++i) {
    last = lane.submit([&order, i] { order.push_back(i); });
  }
  lane.wait(last);
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(Lane, WaitsForTheTasksBeforeTheAwaitedOne) {
  std::atomic<int> ended = 0;
  Lane lane([] {});
  lane.submit([&] { ++ended; });
  const Lane::Ticket second = lane.submit([&] { ++ended; });
  lane.wait(second);
  EXPECT_EQ(ended, 2);
}

TEST(Lane, WaitsNotForTheTasksAfterTheAwaitedOne) {
  std::promise<void> release;
  Lane lane([] {});
  const Lane::Ticket first = lane.submit([] {});
  const Lane::Ticket second = lane.submit([&] { release.get_future().wait(); });
  lane.wait(first);
  release.set_value();
  lane.wait(second);
}

TEST(Lane, RunsTasksAndPumpOnOneThreadThatIsNotTheCallers) {
  std::thread::id of_pump;
  std::thread::id of_task;
  Lane lane([&] { of_pump = std::this_thread::get_id(); }, kNever);
  lane.submit([] {});  // the pump follows it
  lane.wait(lane.submit([&] { of_task = std::this_thread::get_id(); }));
  EXPECT_NE(of_task, std::this_thread::get_id());
  const Lane::Ticket compared = lane.submit([&] { EXPECT_EQ(of_pump, of_task); });
  lane.wait(compared);
}

TEST(Lane, RethrowsAFailureAsItWas) {
  Lane lane([] {});
  const Lane::Ticket ticket = lane.submit([] { throw CommError("worker 3 is gone"); });
  EXPECT_THROW(lane.wait(ticket), CommError);
}

TEST(Lane, RethrowsTheFirstFailureAtEveryLaterWait) {
  Lane lane([] {});
  const Lane::Ticket failing = lane.submit([] { throw std::runtime_error("first"); });
  EXPECT_EQ(failure_of(lane, failing), "first");
  EXPECT_EQ(failure_of(lane, failing), "first");
  EXPECT_EQ(failure_of(lane, lane.submit([] {})), "first");
}

TEST(Lane, RunsNoTaskAfterAFailure) {
  std::atomic<bool> ran = false;
  {
    std::promise<void> both_submitted;
    std::promise<void> pumped_twice;
    std::atomic<bool> failed = false;
    std::atomic<int> calls = 0;
    Lane lane(
        [&] {
          if (failed && ++calls == 2) {  // the lane has looked for a task since the failure
            pumped_twice.set_value();
          }
        },
        100us);
    lane.submit([&] {
      both_submitted.get_future().wait();
      failed = true;
      throw std::runtime_error("first");
    });
    const Lane::Ticket later = lane.submit([&] { ran = true; });
    both_submitted.set_value();
    EXPECT_EQ(failure_of(lane, later), "first");
    EXPECT_EQ(failure_of(lane, lane.submit([&] { ran = true; })), "first");
    EXPECT_EQ(pumped_twice.get_future().wait_for(kPatience), std::future_status::ready);
  }
  EXPECT_FALSE(ran);
}

TEST(Lane, PumpsWhenWoken) {
  std::promise<void> pumped;
  std::atomic<int> calls = 0;
  Lane lane(
      [&] {
        if (calls++ == 0) {
          pumped.set_value();
        }
      },
      kNever);
  lane.wake();
  EXPECT_EQ(pumped.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(Lane, PumpsByItselfWhenIdle) {
  std::promise<void> pumped;
  std::atomic<int> calls = 0;
  Lane lane(
      [&] {
        if (++calls == 3) {
          pumped.set_value();
        }
      },
      100us);
  EXPECT_EQ(pumped.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(Lane, PumpsBetweenTasksThatFollowEachOtherWithoutPause) {
  std::atomic<int> calls = 0;
  int calls_at_second = 0;
  int calls_at_third = 0;
  std::promise<void> all_submitted;
  Lane lane([&] { ++calls; }, kNever);
  lane.submit([&] {
    all_submitted.get_future().wait();
    calls = 0;
  });
  lane.submit([&] { calls_at_second = calls; });
  const Lane::Ticket last = lane.submit([&] { calls_at_third = calls; });
  all_submitted.set_value();
  lane.wait(last);
  EXPECT_GE(calls_at_second, 1);
  EXPECT_GT(calls_at_third, calls_at_second);
}

TEST(Lane, RethrowsAFailureOfThePump) {
  Lane lane([] { throw CommError("the coordinator is gone"); }, 100us);
  EXPECT_THAT(failure_of(lane, 1), HasSubstr("the coordinator is gone"));
}

TEST(Lane, KeepsTheFirstFailureWhenThePumpFailsLater) {
  std::promise<void> pump_failed;
  std::atomic<bool> task_failed = false;
  std::atomic<int> failures = 0;
  Lane lane(
      [&] {
        if (task_failed) {
          if (++failures == 2) {  // the first of them has been stored by now
            pump_failed.set_value();
          }
          throw std::runtime_error("second");
        }
      },
      100us);
  const Lane::Ticket ticket = lane.submit([&] {
    task_failed = true;
    throw std::runtime_error("first");
  });
  ASSERT_EQ(pump_failed.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(failure_of(lane, ticket), "first");
}

TEST(Lane, EndsWithTasksThatNobodyAwaits) {
  std::promise<void> begun;
  std::atomic<bool> ended = false;
  {
    Lane lane([] {}, kNever);
    lane.submit([&] {
      begun.set_value();
      ended = true;
    });
    for (int i = 0; i < 100; ++i) {
      lane.submit([] {});
    }
    begun.get_future().wait();
  }
  EXPECT_TRUE(ended);
}

/// Needs what it is told to need, and makes so many moves towards it.
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
  for (const Exchange::Need need : {Exchange::Need::kCompute, Exchange::Need::kHost, Exchange::Need::kMessages}) {
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
  Lane lane([] {}, kNever);
  lane.attach(exchange);
  exchange.begin(1);
  lane.wake();
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (exchange.needs() != Exchange::Need::kNothing && std::chrono::steady_clock::now() < give_up) {
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
  first.begin(1'000'000'000);  // goes on longer than the test
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
      kNever);
  Countdown exchange;
  lane.attach(exchange);
  exchange.begin(std::numeric_limits<int>::max());
  moves = true;
  lane.wake();
  EXPECT_EQ(pumped.get_future().wait_for(kPatience), std::future_status::ready);
  exchange.begin(0);
  lane.detach(exchange);
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
        if (failed && ++rounds <= 3) {  // the first may come right after the failure
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
  ASSERT_EQ(seen.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(exchange.polls(), polls);
}

TEST(LaneExchange, IsWokenByTheBellOfItsHost) {
  HostGroup host = HostGroup::alone(0, 1);
  Countdown exchange(Exchange::Need::kHost);
  Lane lane([] {}, kNever);
  lane.attach(exchange);
  lane.listen_to(&host, Lane::Core::kShared);
  exchange.begin(1);
  lane.wake();
  host.publish(0, 1);
  lane.wait(exchange);
  lane.listen_to(nullptr, Lane::Core::kShared);
  EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
}

TEST(LaneExchange, IsSeenAtOnceWhenComputeWakesALaneThatListensToTheBell) {
  HostGroup host = HostGroup::alone(0, 1);
  Countdown waiting(Exchange::Need::kHost);
  waiting.stuck = true;
  Lane lane([] {});
  lane.attach(waiting);
  lane.listen_to(&host, Lane::Core::kShared);
  waiting.begin(1);
  lane.wake();
  int rounds = 0;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const std::uint32_t silent = host.bell();
  while (host.bell() == silent && ++rounds < 1'000'000 && std::chrono::steady_clock::now() < give_up) {
    lane.wake();  // rings as soon as the lane sleeps on the bell
    std::this_thread::yield();
  }
  EXPECT_NE(host.bell(), silent);
  lane.listen_to(nullptr, Lane::Core::kShared);
}

TEST(LaneExchange, IsDrivenWithoutSleepByALaneOnItsOwnCore) {
  HostGroup host = HostGroup::alone(0, 1);
  Countdown exchange(Exchange::Need::kHost);
  Lane lane([] {}, kNever);
  lane.attach(exchange);
  lane.listen_to(&host, Lane::Core::kOwn);
  exchange.begin(100);
  lane.wait(exchange);
  lane.listen_to(nullptr, Lane::Core::kShared);
  EXPECT_EQ(exchange.needs(), Exchange::Need::kNothing);
}

}  // namespace
}  // namespace gangway::comm
