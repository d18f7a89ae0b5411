// SPDX-License-Identifier: MIT
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/layout_choice.hpp"
#include "launch/going_on/host_registry.hpp"
#include "launch/going_on/host_returns.hpp"
#include "launch/going_on/restart_policy.hpp"
#include "launch/run/recovery.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RestartPolicy, GoesOnAsLongAsStartsBeginLater) {
  RestartPolicy book(LayoutChoice::kAutoRestarts);
  for (std::int64_t begun = 0; begun < 50; ++begun) {
    EXPECT_EQ(book.lost(begun), milliseconds(0)) << begun;
  }
}

TEST(RestartPolicy, EndsAfterThreeStartsInVainAndWaitsLongerBeforeEach) {
  RestartPolicy book(LayoutChoice::kAutoRestarts);
  EXPECT_EQ(book.lost(10), milliseconds(0));
  EXPECT_EQ(book.lost(10), milliseconds(1000));
  EXPECT_TRUE(book.goes_on());
  EXPECT_EQ(book.lost(std::nullopt), milliseconds(2000));
  EXPECT_FALSE(book.goes_on());  // should the next one be in vain
  EXPECT_EQ(book.lost(10), std::nullopt);
  EXPECT_EQ(book.why_not(), "3 starts in a row have not got further than step 10");
}

TEST(RestartPolicy, CountsAnewAfterProgress) {
  RestartPolicy book(LayoutChoice::kAutoRestarts);
  (void)book.lost(std::nullopt);
  (void)book.lost(std::nullopt);
  EXPECT_EQ(book.lost(0), milliseconds(0));
  EXPECT_EQ(book.lost(0), milliseconds(1000));
}

TEST(RestartPolicy, CountsAStepBackOnceAndNoneThatWasDecided) {
  RestartPolicy book(LayoutChoice::kAutoRestarts);
  (void)book.lost(50'000);
  EXPECT_EQ(book.lost(10'000), milliseconds(1000)) << "its newest states are gone";
  EXPECT_EQ(book.lost(20'000), milliseconds(0)) << "hours have been trained since";
  book.rolled_back();
  EXPECT_EQ(book.lost(5'000), milliseconds(0));
}

class RecoveryTest : public ::testing::Test {
 protected:
  /// A start has ended so. @param begun  nothing: it never trained
  Next after(ExitCode code, std::optional<std::int64_t> begun) {
    end_.exit_code = static_cast<int>(code);
    return recovery_.next(end_, {.run_id = {}, .incarnation = ++incarnation_, .begun = begun});
  }
  std::int64_t incarnation_ = 0;
  Recovery recovery_{LayoutChoice::kAutoRestarts, 0};
  RunEnd end_{};
  HostAllocator host_allocator_{
      {}, 1, 1, {.is_this_host = [](const std::string& /*host*/) { return true; }}};
};

TEST_F(RecoveryTest, OfAFullDiskWaitsForMinutesInALaterStartAlone) {
  EXPECT_EQ(after(ExitCode::kEnvironment, std::nullopt), Next::kEnd) << "a person is there";
  EXPECT_EQ(after(ExitCode::kWorkerLost, 10), Next::kAfterLoss);
  EXPECT_EQ(recovery_.answer(end_, host_allocator_, [] { return true; }).wait, milliseconds(0));
  EXPECT_EQ(after(ExitCode::kEnvironment, std::nullopt), Next::kAfterLoss);
  EXPECT_EQ(recovery_.answer(end_, host_allocator_, [] { return true; }).wait,
            milliseconds(60'000));
  EXPECT_EQ(after(ExitCode::kEnvironment, 10), Next::kEnd) << "it trained";
}

TEST(RestartPolicy, StartsNoMoreThanTheJobAllows) {
  RestartPolicy none(0);
  EXPECT_FALSE(none.goes_on());
  EXPECT_EQ(none.lost(0), std::nullopt);
  EXPECT_EQ(none.why_not(), "layout.restarts=0");
  RestartPolicy one(1);
  EXPECT_EQ(one.lost(0), milliseconds(0));
  EXPECT_EQ(one.lost(5), std::nullopt);
}

class HostRosterTest : public ::testing::Test {
 protected:
  static bool any(const HostAllocation& /*allocation*/) { return true; }
  HostRegistry::TimePoint now_{std::chrono::hours(1)};
};

std::vector<std::string> names(const HostAllocation& allocation) {
  std::vector<std::string> found;
  for (const Host& host : allocation.hosts) {
    found.push_back(host.name);
  }
  return found;
}

TEST_F(HostRosterTest, KeepsAHostThatLostOneProcess) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 4);
  registry.lost("b", now_);
  EXPECT_THAT(names(registry.allocation(now_, 1, any)), ElementsAre("a", "b"));
}

TEST_F(HostRosterTest, ForgetsLossesOfLongAgo) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 4);
  registry.lost("b", now_);
  now_ += HostRegistry::kLossesCount;
  registry.lost("b", now_);
  EXPECT_THAT(names(registry.allocation(now_, 1, any)), ElementsAre("a", "b"));
  registry.lost("b", now_);
  EXPECT_THAT(names(registry.allocation(now_, 1, any)), ElementsAre("a"));
}

TEST_F(HostRosterTest, GoesOnWithFewerWorkersWithoutAHostThatLostTwo) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 4);
  registry.lost("b", now_);
  registry.lost("b", now_);
  const HostAllocation allocation = registry.allocation(now_, 1, any);
  EXPECT_EQ(allocation.workers, 2);
  EXPECT_THAT(allocation.left_out, ElementsAre("b"));
  EXPECT_EQ(registry.allocation(now_ + HostRegistry::kAfterLosses, 1, any).workers, 4);
}

TEST_F(HostRosterTest, TakesSpareSlotsFirst) {
  HostRegistry registry({{"a", 2}, {"b", 2}, {"c", 2}}, 4);
  registry.silent("a", now_);
  const HostAllocation allocation = registry.allocation(now_, 1, any);
  EXPECT_EQ(allocation.workers, 4);
  EXPECT_THAT(names(allocation), ElementsAre("b", "c"));
}

TEST_F(HostRosterTest, TakesOnlyAsManyAsTheLayoutAllows) {
  HostRegistry registry({{"a", 2}, {"b", 1}, {"c", 1}}, 4);
  registry.silent("c", now_);
  const auto even = [](const HostAllocation& allocation) { return allocation.workers % 2 == 0; };
  EXPECT_EQ(registry.allocation(now_, 1, even).workers, 2);
  EXPECT_EQ(registry.allocation(now_, 3, even).workers, 0);
}

TEST_F(HostRosterTest, UsesHostsThatLoseProcessesWhereThereAreNoOthers) {
  HostRegistry registry({{"a", 1}, {"b", 1}}, 2);
  for (const char* host : {"a", "a", "b", "b"}) {
    registry.lost(host, now_);
  }
  EXPECT_EQ(registry.allocation(now_, 1, any).workers, 2);
  registry.silent("b", now_);
  EXPECT_THAT(names(registry.allocation(now_, 1, any)), ElementsAre("a"));
  EXPECT_EQ(registry.allocation(now_, 2, any).workers, 0);
}

TEST_F(HostRosterTest, LeavesThisHostAloneWhereThereIsNoOther) {
  HostRegistry registry({}, 3);
  const HostAllocation allocation = registry.allocation(now_, 1, any);
  EXPECT_EQ(allocation.workers, 3);
  EXPECT_THAT(allocation.left_out, IsEmpty());
}

TEST_F(HostRosterTest, TakesHostsThatHaveComeAndForgetsThoseThatWent) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 4);
  registry.use({{"b", 2}, {"c", 1}});
  registry.want(3);
  EXPECT_THAT(names(registry.allocation(now_, 1, any)), ElementsAre("b", "c"));
  registry.want(5);
  EXPECT_EQ(registry.allocation(now_, 1, any).workers, 3) << "there are no more slots";
}

TEST_F(HostRosterTest, GoesBelowTheLeastWhereSoFewAreWanted) {
  HostRegistry registry({}, 4);
  registry.want(1);
  EXPECT_EQ(registry.allocation(now_, 3, any).workers, 1);
}

TEST_F(HostRosterTest, GivesUpTheSlotsOfWorkersThatWereDrained) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 4);
  registry.drain(registry.allocation(now_, 1, any), {Rank(3), Rank(4)},
                 [](const std::string&) { return false; });
  EXPECT_EQ(registry.allocation(now_, 1, any).workers, 2);
}

TEST_F(HostRosterTest, AsksSilentHostsAtAnyTimeAndOthersWhenTheirTimeIsOver) {
  HostRegistry registry({{"a", 1}, {"b", 1}, {"c", 1}}, 3);
  registry.silent("b", now_);
  registry.lost("c", now_);
  registry.lost("c", now_);
  const HostAllocation allocation = registry.allocation(now_, 1, any);
  EXPECT_THAT(registry.to_ask(allocation, now_), ElementsAre(Host{"b", 1}));
  EXPECT_THAT(registry.to_ask(allocation, now_ + HostRegistry::kAfterLosses),
              ElementsAre(Host{"b", 1}, Host{"c", 1}));
}

TEST_F(HostRosterTest, AsksNoHostThatIsNotNeeded) {
  HostRegistry registry({{"a", 2}, {"b", 2}}, 2);
  registry.silent("b", now_);
  EXPECT_THAT(registry.to_ask(registry.allocation(now_, 1, any), now_), IsEmpty());
}

class LineupsTest : public ::testing::Test {
 protected:
  /// Waits 10 s each time. @param and_then  by number, from 1
  HostAllocator::Wait wait(std::function<void(int)> and_then = [](int /*number*/) {}) {
    return [this, and_then = std::move(and_then)](const std::vector<std::string>& /*hosts*/) {
      now_ += std::chrono::seconds(10);
      and_then(++waits_);
      return std::optional(now_);
    };
  }
  std::set<std::string> silent_;
  int waits_ = 0;
  HostAllocator::TimePoint now_{std::chrono::hours(1)};
  HostAllocator host_allocator_{
      {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}},
      4,
      1,
      {.is_this_host = [](const std::string& host) { return host == "a"; },
       .is_possible = [](const HostAllocation& /*allocation*/) { return true; },
       .replicate_networks = [] { return false; },
       .find_silent =
           [this](const std::vector<Host>& hosts) {
             std::vector<std::string> found;
             for (const Host& host : hosts) {
               if (silent_.contains(host.name)) {
                 found.push_back(host.name);
               }
             }
             return found;
           }}};
};

TEST_F(LineupsTest, TakeBackOnlyHostsThatAnswerAndKeepWantingTheOthers) {
  silent_ = {"b", "d"};
  ASSERT_TRUE(host_allocator_.after_loss(Rank(2), now_, wait()));
  EXPECT_EQ(host_allocator_.now().workers, 2);
  now_ += HostRegistry::kWithoutAnswer;  // silence counts no longer: only answers do
  const std::vector<Host> asked = host_allocator_.to_ask(now_);
  EXPECT_THAT(asked, ElementsAre(Host{"b", 1}, Host{"d", 1}));
  EXPECT_EQ(host_allocator_.heard(asked, {"b"}, now_), 3);
  EXPECT_EQ(host_allocator_.now().workers, 2) << "until the run has saved";
  silent_ = {"d"};
  host_allocator_.take_back(now_);
  EXPECT_EQ(host_allocator_.now().workers, 3);
  EXPECT_THAT(host_allocator_.to_ask(now_), ElementsAre(Host{"d", 1}));
}

TEST_F(LineupsTest, WaitForHostsThatAloneHaveAPartOfTheNewestSnapshot) {
  silent_ = {"b", "c"};
  ASSERT_TRUE(host_allocator_.after_loss(
      Rank(2), now_, wait([&](int number) { silent_.erase(number == 2 ? "c" : ""); })));
  EXPECT_EQ(waits_, 2) << "the part of b is on c";
  EXPECT_THAT(names(host_allocator_.now()), ElementsAre("a", "c", "d"));
}

TEST_F(LineupsTest, WaitAMinuteAtMost) {
  silent_ = {"b", "c"};
  ASSERT_TRUE(host_allocator_.after_loss(Rank(2), now_, wait()));
  EXPECT_EQ(waits_, 6);
  EXPECT_THAT(names(host_allocator_.now()), ElementsAre("a", "d"));
}

TEST_F(LineupsTest, WaitNotWhereEachPartIsOnAHostThatAnswersOrTheUserWantsToLeave) {
  silent_ = {"b", "d"};
  ASSERT_TRUE(host_allocator_.after_loss(Rank(2), now_, wait()));
  EXPECT_EQ(waits_, 0);
  silent_.clear();
  now_ += HostRegistry::kWithoutAnswer;
  host_allocator_.resize(4, std::nullopt, now_);
  silent_ = {"c", "d"};
  ASSERT_TRUE(host_allocator_.after_loss(
      Rank(3), now_,
      [](const auto& /*hosts*/) -> std::optional<HostAllocator::TimePoint> { return {}; }));
  EXPECT_THAT(names(host_allocator_.now()), ElementsAre("a", "b"));
}

TEST(HostReturns, AreAskedForEverMoreRarely) {
  HostReturns returns(std::chrono::seconds(60));
  HostReturns::TimePoint now{std::chrono::hours(1)};
  returns.begin(now);
  for (const int seconds : {60, 120, 240, 480, 600, 600}) {
    EXPECT_FALSE(returns.is_due(now + std::chrono::seconds(seconds) - milliseconds(1))) << seconds;
    now += std::chrono::seconds(seconds);
    EXPECT_TRUE(returns.is_due(now)) << seconds;
  }
  returns.begin(now);
  EXPECT_TRUE(returns.is_due(now + std::chrono::seconds(60)));
}

TEST(HostReturns, ResizeTheRunOnceInFiveMinutes) {
  HostReturns returns(std::chrono::seconds(60));
  const HostReturns::TimePoint now{std::chrono::hours(1)};
  EXPECT_TRUE(returns.may_resize(now));
  EXPECT_FALSE(returns.may_resize(now + std::chrono::seconds(299)));
  EXPECT_TRUE(returns.may_resize(now + std::chrono::seconds(300)));
}

}  // namespace
}  // namespace gangway::launch
