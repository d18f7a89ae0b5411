// SPDX-License-Identifier: MIT
#include "coordinator/core/blame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr int kAccusers = 4;
constexpr milliseconds kDecided = kHeartbeatPeriod + milliseconds(200);

class BlameTest : public ::testing::Test {
 protected:
  BlameTest() {
    for (int rank = 1; rank <= kAccusers; ++rank) {
      EXPECT_FALSE(
          membership_.join(Rank(rank), {.host = "node-a", .process = {.pid = 100 + rank}}));
      EXPECT_FALSE(membership_.ready(Rank(rank), {.plan_hash = 7}));
      beat(rank, Pulse::kWorks);
    }
  }
  void beat(int rank, Pulse pulse) { membership_.heartbeat(Rank(rank), pulse, now_); }
  /// As RunCore takes a Stop in.
  void complain(int rank, int accused) {
    membership_.leave(Rank(rank));
    blame_.add({.rank = Rank(rank), .accused = Rank(accused), .reason = "I waited"}, now_);
  }
  /// The heartbeats of all that are there, then the verdict.
  int verdict_after(milliseconds later) {
    now_ += later;
    for (const Member& member : membership_.members()) {
      if (takes_part(member) && member.rank != Rank(silent_)) {
        membership_.heartbeat(member.rank, member.pulse, now_);
      }
    }
    const auto fault = blame_.verdict(membership_, now_);
    return fault ? fault->rank.value() : 0;
  }

  TimePoint now_{};
  Membership membership_{kAccusers, TimePoint{}, {}};
  Blame blame_;
  int silent_ = 0;
};

TEST_F(BlameTest, NamesTheAccusedAndTellsWhoSaysSo) {
  complain(1, 3);
  EXPECT_EQ(verdict_after(kDecided - milliseconds(1)), 0) << "others may have more to say";
  EXPECT_EQ(verdict_after(milliseconds(1)), 3);
  const auto fault = blame_.verdict(membership_, now_);
  EXPECT_EQ(fault->code, ExitCode::kWorkerLost);
  EXPECT_THAT(fault->reason,
              HasSubstr("rank 3 (host node-a, pid 103) keeps its peers waiting, though its process "
                        "lives; rank 1 (host node-a, pid 101): I waited"));
}

TEST_F(BlameTest, NamesTheComplainerWhoAccusesNobody) {
  complain(2, 0);
  EXPECT_EQ(verdict_after(milliseconds(1'999)), 0) << "one who died may take that long to end";
  EXPECT_EQ(verdict_after(milliseconds(1)), 2);
}

TEST_F(BlameTest, FollowsAChainToTheOneWhoComplainsOfNobody) {
  complain(1, 2);
  complain(2, 3);
  complain(3, 4);
  EXPECT_EQ(verdict_after(kDecided), 4);
}

TEST_F(BlameTest, FollowsAChainWhateverComesFirst) {
  complain(2, 3);
  complain(1, 2);
  EXPECT_EQ(verdict_after(kDecided), 3);
}

TEST_F(BlameTest, ClearsAnAccusedThatWaitsAsWellForTheOneThatDoesNot) {
  beat(2, Pulse::kWaits);
  beat(3, Pulse::kWaits);
  complain(1, 2);  // who waits for 4, and has not yet waited for long enough to say so
  EXPECT_EQ(verdict_after(kDecided), 4);
}

TEST_F(BlameTest, WaitsForTheWordOfAnAccusedThatWaitsWhereNobodyElseIsIdle) {
  for (const int rank : {2, 3, 4}) {
    beat(rank, Pulse::kWaits);
  }
  complain(1, 2);
  EXPECT_EQ(verdict_after(kDecided), 0);
  complain(2, 4);  // whose lane hangs: its compute thread waits like all the others'
  EXPECT_EQ(verdict_after(milliseconds(1)), 0);
  EXPECT_EQ(verdict_after(milliseconds(5'000) - kDecided), 4);
}

TEST_F(BlameTest, TakesSilenceForNoWait) {
  beat(3, Pulse::kWaits);
  beat(2, Pulse::kWaits);
  silent_ = 3;  // stopped while it waited
  verdict_after(2 * kHeartbeatPeriod);
  complain(1, 3);
  EXPECT_EQ(verdict_after(kDecided), 3);
}

TEST_F(BlameTest, NamesTheIdleOneOfACircle) {
  beat(3, Pulse::kWaits);
  complain(1, 2);
  complain(2, 1);
  EXPECT_EQ(verdict_after(kDecided), 4);
}

TEST_F(BlameTest, NamesTheFirstAccusedOfACircleWhereNobodyIsIdle) {
  beat(3, Pulse::kWaits);
  beat(4, Pulse::kWaits);
  complain(1, 2);
  complain(2, 1);
  EXPECT_EQ(verdict_after(kDecided), 2);
}

TEST_F(BlameTest, CountsNoTimeInWhichTheCoordinatorStoodStill) {
  complain(1, 3);
  now_ += milliseconds(10'000);
  blame_.forgive(milliseconds(10'000), now_);
  EXPECT_EQ(verdict_after(kDecided - milliseconds(1)), 0);
  EXPECT_EQ(verdict_after(milliseconds(1)), 3);
}

}  // namespace
}  // namespace gangway::coordinator
