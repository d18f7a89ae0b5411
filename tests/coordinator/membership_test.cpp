// SPDX-License-Identifier: MIT
#include "coordinator/core/membership.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/run_files.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TimePoint kStart{};
const MembershipLimits kLimits{
    .start = seconds(10), .heartbeat = seconds(3), .closing = milliseconds(50)};

messages::Hello worker(int rank) {
  return {.host = "node-a", .process = {.pid = 100 + rank}, .device = "cpu"};
}

Membership ready_pair() {
  Membership membership(2, kStart, kLimits);
  for (const int rank : {1, 2}) {
    EXPECT_FALSE(membership.join(Rank(rank), worker(rank)));
    membership.lifeline_opened(Rank(rank), kStart);
    EXPECT_FALSE(membership.ready(Rank(rank), {.plan_hash = 7}));
  }
  return membership;
}

TEST(Membership, IsReadyOnlyWhenAllSaidSoAndTheirLifelinesStand) {
  Membership membership(2, kStart, kLimits);
  for (const int rank : {1, 2}) {
    EXPECT_FALSE(membership.join(Rank(rank), worker(rank)));
    EXPECT_FALSE(membership.ready(Rank(rank), {.plan_hash = 7}));
  }
  EXPECT_FALSE(membership.all_ready());
  membership.lifeline_opened(Rank(1), kStart);
  EXPECT_FALSE(membership.all_ready());
  membership.lifeline_opened(Rank(2), kStart);
  EXPECT_TRUE(membership.all_ready());
}

TEST(Membership, RefusesAnotherProtocol) {
  Membership membership(2, kStart, kLimits);
  messages::Hello other = worker(2);
  ++other.protocol;
  const auto fault = membership.join(Rank(2), other);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, ExitCode::kEnvironment);
  EXPECT_THAT(fault->reason, HasSubstr("one build"));
}

TEST(Membership, RefusesAWorkerOfAnotherBuildAndNamesHostAndBoth) {
  Membership membership(2, kStart, kLimits, "0123456789abcdef");
  messages::Hello same = worker(1);
  same.build = "0123456789abcdef";
  EXPECT_FALSE(membership.join(Rank(1), same));
  messages::Hello other = worker(2);
  other.host = "node-b";
  other.build = "fedcba9876543210";
  const auto fault = membership.join(Rank(2), other);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, ExitCode::kEnvironment);
  EXPECT_THAT(fault->reason,
              AllOf(HasSubstr("rank 2 on host node-b is of build fedcba9876543210"),
                    HasSubstr("the coordinator of 0123456789abcdef"), HasSubstr("./launch/build")));
}

TEST(Membership, RefusesAWorkerWithAnotherPlanAndNamesBoth) {
  Membership membership(2, kStart, kLimits);
  for (const int rank : {1, 2}) {
    EXPECT_FALSE(membership.join(Rank(rank), worker(rank)));
    membership.lifeline_opened(Rank(rank), kStart);
  }
  EXPECT_FALSE(membership.ready(Rank(1), {.plan_hash = 0xabc}));
  const auto fault = membership.ready(Rank(2), {.plan_hash = 0xbad});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, Rank(2));
  EXPECT_THAT(fault->reason, AllOf(HasSubstr("rank 2"), HasSubstr("plan 0000000000000bad"),
                                   HasSubstr("rank 1 made 0000000000000abc")));
  EXPECT_FALSE(membership.all_ready());
}

TEST(Membership, RefusesUnknownRanksAndSecondHellos) {
  Membership membership(2, kStart, kLimits);
  EXPECT_TRUE(membership.join(Rank(3), worker(3)));
  EXPECT_TRUE(membership.join(Rank(0), worker(0)));
  EXPECT_FALSE(membership.join(Rank(1), worker(1)));
  EXPECT_TRUE(membership.join(Rank(1), worker(1)));
}

TEST(Membership, RefusesAnotherPlanAndNamesBothRanks) {
  Membership membership(2, kStart, kLimits);
  EXPECT_TRUE(membership.ready(Rank(1), {.plan_hash = 7})) << "before its Hello";
  EXPECT_FALSE(membership.join(Rank(1), worker(1)));
  EXPECT_FALSE(membership.join(Rank(2), worker(2)));
  EXPECT_FALSE(membership.ready(Rank(2), {.plan_hash = 7}));
  const auto fault = membership.ready(Rank(1), {.plan_hash = 8});
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->reason, HasSubstr("rank 1"));
  EXPECT_THAT(fault->reason, HasSubstr("rank 2"));
}

TEST(Membership, NamesThoseWhoAreLateAtTheStart) {
  Membership membership(2, kStart, kLimits);
  EXPECT_FALSE(membership.join(Rank(1), worker(1)));
  EXPECT_FALSE(membership.check(kStart + seconds(9)));
  const auto fault = membership.check(kStart + seconds(10));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, ExitCode::kWorkerLost);
  EXPECT_EQ(fault->rank, Rank(1));
  EXPECT_THAT(fault->reason,
              HasSubstr("rank 1 (host node-a, pid 101) is not ready, rank 2 never reported"));
}

TEST(Membership, SaysOfTwoThousandThatAreLateWhatAStatusCanHold) {
  constexpr int kWorkers = 2000;
  Membership membership(kWorkers, kStart, kLimits);
  for (int rank = 1; rank <= kWorkers; ++rank) {
    EXPECT_FALSE(membership.join(Rank(rank), worker(rank)));
  }
  const auto fault = membership.check(kStart + seconds(10));
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->reason, HasSubstr("rank 8 (host node-a, pid 108) is not ready and 1992 more"));
  const gangway::testing::ScratchFolder run;
  write_status(run.path(), {.exit_code = 3, .reason = fault->reason});
  const auto status = read_status(run.path());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->reason, fault->reason);
}

TEST(Membership, WaitsForWhoGetsOnWithItsStart) {
  Membership membership(1, kStart, {.start = seconds(10), .heartbeat = seconds(100)});
  EXPECT_FALSE(membership.join(Rank(1), worker(1)));
  membership.heartbeat(Rank(1), Pulse::kBegins, kStart + seconds(9));
  EXPECT_FALSE(membership.check(kStart + seconds(18)));
  membership.heartbeat(Rank(1), Pulse::kWorks, kStart + seconds(18));  // lives, and that is all
  EXPECT_TRUE(membership.check(kStart + seconds(19)));
}

TEST(Membership, DeclaresASilentWorkerHungAfterTheHeartbeatDeadline) {
  Membership membership = ready_pair();
  membership.heartbeat(Rank(1), Pulse::kWorks, kStart + seconds(2));
  EXPECT_FALSE(membership.check(kStart + seconds(2)));
  const auto fault = membership.check(kStart + seconds(3));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, Rank(2));
  EXPECT_THAT(fault->reason, HasSubstr("no heartbeat for 3 s"));
}

TEST(Membership, ForgivesTheSilenceOfATimeInWhichNobodyListened) {
  Membership membership = ready_pair();
  membership.heartbeat(Rank(1), Pulse::kWorks, kStart + seconds(19));
  membership.forgive(seconds(20), kStart + seconds(20));
  EXPECT_FALSE(membership.check(kStart + seconds(20)));
  const auto fault = membership.check(kStart + seconds(23));
  ASSERT_TRUE(fault) << "a heartbeat is never moved beyond the present";
  EXPECT_EQ(fault->rank, Rank(1));
}

TEST(Membership, ForgivesLateStartersATimeInWhichNobodyListened) {
  Membership membership(2, kStart, kLimits);
  membership.forgive(seconds(4), kStart + seconds(8));
  EXPECT_FALSE(membership.check(kStart + seconds(13)));
  EXPECT_TRUE(membership.check(kStart + seconds(14)));
}

TEST(Membership, GivesAClosedLifelineAMomentForAnExplanation) {
  Membership membership = ready_pair();
  EXPECT_TRUE(membership.lifeline_closed(Rank(2), kStart));
  EXPECT_FALSE(membership.check(kStart + milliseconds(49)));
  const auto fault = membership.check(kStart + milliseconds(50));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->rank, Rank(2));
  EXPECT_THAT(fault->reason, HasSubstr("was killed (SIGKILL"));
}

TEST(Membership, NamesTheSignalThatTheWorkerSaidItDiesOf) {
  Membership membership = ready_pair();
  membership.dying(Rank(2), SIGSEGV);
  EXPECT_TRUE(membership.lifeline_closed(Rank(2), kStart));
  const auto fault = membership.check(kStart + milliseconds(50));
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->reason, HasSubstr("died of SIGSEGV"));
}

TEST(Membership, ExpectsTheEndOfTheLifelineAfterAGoodbye) {
  Membership membership = ready_pair();
  membership.leave(Rank(1));
  EXPECT_FALSE(membership.lifeline_closed(Rank(1), kStart));
  EXPECT_FALSE(membership.all_left());
  membership.leave(Rank(2));
  EXPECT_TRUE(membership.all_left());
  EXPECT_FALSE(membership.check(kStart + seconds(100)));
}

TEST(Membership, RaisesTheEpochWithEveryLoss) {
  Membership membership = ready_pair();
  EXPECT_EQ(membership.epoch(), 1);
  membership.lose(Rank(2));
  EXPECT_EQ(membership.epoch(), 2);
  EXPECT_FALSE(membership.lifeline_closed(Rank(2), kStart));
}

}  // namespace
}  // namespace gangway::coordinator
