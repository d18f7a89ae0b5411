// SPDX-License-Identifier: MIT
#include "comm/lane.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "base/errors.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""us;
using testing::HasSubstr;

constexpr auto kNever = std::chrono::hours(1);  // an idle period that does not end within a test
constexpr auto kPatience = std::chrono::seconds(20);  // limit for events that must come at once

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

TEST(Lane, IsCalledSoByProfilers) {
  std::array<char, 16> name{};
  Lane lane([] {});
  lane.wait(lane.submit([&] { ::pthread_getname_np(::pthread_self(), name.data(), name.size()); }));
  EXPECT_STREQ(name.data(), "lane");
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
          if (++failures == 2) {  // the first failure is stored by now
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

}  // namespace
}  // namespace gangway::comm
