// SPDX-License-Identifier: MIT
#include "coordinator/steering/balance.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BestShares, AreEvenAmongEqualWorkersAndFewerForSlowOnes) {
  EXPECT_THAT(best_shares({1, 1, 1}, 8), ElementsAre(3, 3, 2));
  EXPECT_THAT(best_shares({1, 1, 1, 2}, 16), ElementsAre(5, 5, 4, 2));
  EXPECT_THAT(best_shares({1, 1, 1, 2}, 4), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(best_shares({1, 100}, 5), ElementsAre(4, 1));
}

TEST(BestShares, LeaveNoBetterOnes) {
  const std::vector<double> each{1.0, 1.7, 0.4};
  const auto longest = [&](const std::vector<int>& shares) {
    return std::max({each[0] * shares[0], each[1] * shares[1], each[2] * shares[2]});
  };
  for (int all = 3; all < 20; ++all) {
    const double best = longest(best_shares(each, all));
    for (int first = 1; first < all - 1; ++first) {
      for (int second = 1; first + second < all; ++second) {
        EXPECT_LE(best, longest({first, second, all - first - second}));
      }
    }
  }
}

constexpr double kLong = 1e6;

/// A tick every ten seconds.
class BalanceTest : public ::testing::Test {
 protected:
  static BalancePlan plan(std::vector<int> shares) {
    return {.is_on = true, .shares = std::move(shares)};
  }
  std::optional<BalanceAdvice> look(Balancer& balancer, const std::vector<double>& work, int ticks,
                                    double left = kLong) {
    std::optional<BalanceAdvice> advice;
    for (int tick = 0; tick < ticks && !advice; ++tick) {
      advice = balancer.look({.unix_seconds = now_ += 10.0, .work_seconds = work}, left);
    }
    return advice;
  }
  double now_ = 1000.0;
};

TEST_F(BalanceTest, ComesWhereAWorkerIsSlowForAWhile) {
  Balancer balancer(plan({4, 4, 4, 4}));
  EXPECT_FALSE(look(balancer, {4, 4, 4, 8}, 5));
  const auto advice = look(balancer, {4, 4, 4, 8}, 1);
  ASSERT_TRUE(advice.has_value());
  EXPECT_THAT(advice->shares, ElementsAre(5, 5, 4, 2));
  EXPECT_DOUBLE_EQ(advice->gain, 1.6);
  EXPECT_EQ(advice->slowest, WorkerIndex(3));
  EXPECT_DOUBLE_EQ(advice->slowness, 2.0);
  EXPECT_FALSE(look(balancer, {4, 4, 4, 8}, 9)) << "once a start";
}

TEST_F(BalanceTest, WaitsForTheTicksToSpanLongEnough) {
  Balancer balancer(plan({4, 4}));
  for (int second = 0; second < 30; ++second) {
    EXPECT_FALSE(balancer.look({.unix_seconds = now_ + second, .work_seconds = {4, 12}}, kLong));
  }
  EXPECT_TRUE(balancer.look({.unix_seconds = now_ + 30, .work_seconds = {4, 12}}, kLong));
}

TEST_F(BalanceTest, StaysAwayWhereWorkersAreSlowInTurn) {
  Balancer balancer(plan({4, 4}));
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_FALSE(
        look(balancer, turn % 4 == 0 ? std::vector<double>{4, 4} : std::vector{4.0, 12.0}, 1));
  }
}

TEST_F(BalanceTest, StaysAwayNearTheEndAndSoonAfterAnother) {
  Balancer at_the_end(plan({4, 4}));
  EXPECT_FALSE(look(at_the_end, {4, 12}, 20, /*left=*/60.0));
  BalancePlan after = plan({4, 4});
  after.last_balance_unix = now_;
  Balancer soon(after);
  EXPECT_FALSE(look(soon, {4, 12}, 29));
  EXPECT_TRUE(look(soon, {4, 12}, 1));
}

TEST_F(BalanceTest, SaysWhereThereAreTooFewMicrobatches) {
  Balancer balancer(plan({1, 1, 1}));
  const auto advice = look(balancer, {1, 1, 2}, 6);
  ASSERT_TRUE(advice.has_value());
  EXPECT_THAT(advice->shares, IsEmpty());
  EXPECT_EQ(advice->slowest, WorkerIndex(2));
}

TEST_F(BalanceTest, CanBeOffAndNeedsAllWorkers) {
  Balancer off({.shares = {4, 4}});
  EXPECT_FALSE(look(off, {4, 12}, 9));
  Balancer balancer(plan({4, 4}));
  EXPECT_FALSE(look(balancer, {12}, 9));
}

/// Two workers of four micro-batches each; ticks of two steps.
class BalancedJob : public RunCoreTest {
 protected:
  BalancedJob() : RunCoreTest(balanced()) {}
  static RunCoreSettings balanced(bool is_supervised = true) {
    RunCoreSettings result = settings();
    result.is_supervised = is_supervised;
    result.ticks.tick_steps = result.leases.tick_steps = 2;
    result.balance = {.is_on = true,
                      .shares = {4, 4},
                      .spans = 1,
                      .span_seconds = 0.0,
                      .least_saved_seconds = 0.0,
                      .seconds_between = 0.0};
    return result;
  }
  /// The first worker waits for the second most of the time.
  void step_unequally(std::int64_t step) {
    now_ += std::chrono::milliseconds(600);
    send(1, messages::Progress{
                .step = step, .losses = {{0, {1.0, 1.0}}}, .figures = {.exposed_seconds = 0.4}});
    send(2, messages::Progress{.step = step, .losses = {{1, {1.0, 1.0}}}});
  }
};

TEST_F(BalancedJob, SavesAndGoesOnWithOtherShares) {
  begin();
  for (std::int64_t step = 1; step <= 4; ++step) {
    step_unequally(step);
  }
  const auto events = seen<RecordSteering>();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].event.command, "balance");
  EXPECT_EQ(events[0].event.who, "gangway");
  EXPECT_EQ(events[0].event.arguments.at("shares"), "[6, 2]");
  const std::int64_t step = seen<GrantLease>().back().lease.end;
  for (std::int64_t next = 5; next <= step; ++next) {
    step_unequally(next);
  }
  part(1, step);
  part(2, step);
  keep(core_.checkpoint_committed(step, now_));
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
  EXPECT_EQ(run_end().resize, (Resize{.workers = 2, .shares = {6, 2}}));
}

}  // namespace
}  // namespace gangway::coordinator
