// SPDX-License-Identifier: MIT
#include "launch/run/job_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

/// A job of a coordinator and two workers, whose first rank comes half a second after mpirun.
class JobWatchTest : public ::testing::Test {
 protected:
  static constexpr WatchLimits kLimits{.silence = seconds(3)};

  void greet(int rank) {
    watch_.greeted({.rank = Rank(rank), .process = {.pid = 100 + rank}, .host = "node-a"}, now_);
  }
  void greet_all() {
    pass(milliseconds(500));
    for (int rank = 0; rank < 3; ++rank) {
      greet(rank);
      watch_.heard(Rank(rank), now_);
    }
  }
  void settle_all() {
    greet_all();
    for (int rank = 0; rank < 3; ++rank) {
      watch_.settled(Rank(rank));
    }
  }
  void pass(milliseconds time) { now_ += time; }
  /// Time passes and the coordinator is heard.
  void pass_beating(milliseconds time) {
    for (; time > milliseconds(0); time -= milliseconds(500)) {
      pass(milliseconds(500));
      watch_.heard(Rank(0), now_);
    }
  }
  std::optional<RunEnd> check() { return watch_.check(now_); }
  std::string reason() {
    const auto verdict = check();
    return verdict ? verdict->reason : "none";
  }

  JobWatch::TimePoint now_{};
  JobWatch watch_{3, now_, kLimits};
};

TEST_F(JobWatchTest, LeavesAJobAloneThatRuns) {
  settle_all();
  pass_beating(seconds(600));
  EXPECT_FALSE(check());
  EXPECT_FALSE(watch_.is_starting());
}

TEST_F(JobWatchTest, EndsAJobOfWhichNoRankComes) {
  pass(seconds(119));
  EXPECT_FALSE(check());
  pass(seconds(1));
  EXPECT_THAT(reason(), HasSubstr("no rank has connected for 120 s"));
}

TEST_F(JobWatchTest, EndsAJobOfWhichOneRankDoesNotCome) {
  pass(milliseconds(500));
  greet(0);
  greet(2);
  pass(milliseconds(2900));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_THAT(reason(), HasSubstr("rank 1 has not connected 3 s after the first rank"));
}

TEST_F(JobWatchTest, WaitsLongerForTheOthersWhereTheFirstRankTookLong) {
  pass(seconds(4));
  greet(0);
  pass(milliseconds(2900));
  watch_.heard(Rank(0), now_);
  pass(milliseconds(2900));
  EXPECT_FALSE(check());
}

TEST_F(JobWatchTest, NamesARankThatDiesBeforeAllHaveMet) {
  greet_all();
  watch_.gone(Rank(2), now_);
  pass(milliseconds(300));
  EXPECT_EQ(reason(),
            "rank 2 (host node-a, pid 102) was killed or has crashed before all ranks had met");
  EXPECT_TRUE(check()->is(ExitCode::kWorkerLost));
}

TEST_F(JobWatchTest, LeavesALostWorkerToACoordinatorThatRuns) {
  settle_all();
  watch_.gone(Rank(2), now_);
  pass_beating(seconds(7));  // it may hear those who accuse first
  EXPECT_FALSE(check());
  pass_beating(seconds(1));
  EXPECT_THAT(reason(), HasSubstr("rank 2"));
}

TEST_F(JobWatchTest, NamesAWorkerThatDiesBeforeTheCoordinatorCanSeeIt) {
  greet_all();
  watch_.settled(Rank(0));
  watch_.gone(Rank(2), now_);
  pass(milliseconds(300));
  EXPECT_THAT(reason(), HasSubstr("rank 2"));
}

TEST_F(JobWatchTest, NamesACoordinatorThatDies) {
  settle_all();
  watch_.gone(Rank(0), now_);
  pass(milliseconds(300));
  EXPECT_EQ(reason(), "the coordinator (host node-a, pid 100) was killed or has crashed");
}

TEST_F(JobWatchTest, NamesACoordinatorThatIsSilent) {
  settle_all();
  pass(milliseconds(2900));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_THAT(reason(),
              HasSubstr("the coordinator (host node-a, pid 100) has been silent for 3 s"));
}

TEST_F(JobWatchTest, ForgivesACoordinatorThatWaitsForItsDiskForAWhile) {
  settle_all();
  for (int i = 0; i < 29; ++i) {
    watch_.waits_for_disk(now_);
    pass(seconds(1));
    EXPECT_FALSE(check()) << i;
  }
  watch_.waits_for_disk(now_);
  pass(seconds(1));
  EXPECT_THAT(reason(), HasSubstr("silent for 30 s"));
}

TEST_F(JobWatchTest, GivesARankTimeToLoadItsProgram) {
  pass(milliseconds(500));
  for (int rank = 0; rank < 3; ++rank) {
    greet(rank);
  }
  watch_.heard(Rank(0), now_);
  watch_.heard(Rank(1), now_);
  for (int i = 0; i < 119; ++i) {
    pass(seconds(1));
    watch_.heard(Rank(0), now_);
    watch_.heard(Rank(1), now_);
    EXPECT_FALSE(check()) << i;
  }
  pass(seconds(1));
  EXPECT_THAT(reason(), HasSubstr("rank 2 (host node-a, pid 102) has been silent for 120 s"));
}

TEST_F(JobWatchTest, NamesWhatIsStopped) {
  greet_all();
  const std::vector<StoppedProcess> stopped{
      {.pid = 101, .program = "gangway-worker", .rank = Rank(1)}};
  watch_.stopped(stopped, now_);
  pass(seconds(3));
  watch_.stopped(stopped, now_);
  EXPECT_THAT(reason(),
              HasSubstr("rank 1 (host node-a, pid 101) has been stopped (SIGSTOP) for 3 s"));
}

TEST_F(JobWatchTest, NamesARankThatIsStoppedBeforeItHasGreeted) {
  const std::vector<StoppedProcess> stopped{{.pid = 55, .program = "gangway", .rank = Rank(2)}};
  watch_.stopped(stopped, now_);
  pass(seconds(3));
  watch_.stopped(stopped, now_);
  EXPECT_THAT(reason(), HasSubstr("rank 2 has been stopped (SIGSTOP) for 3 s"));
}

TEST_F(JobWatchTest, CountsTheTimeOfWhatWasStoppedTwiceFromTheSecondTime) {
  greet_all();
  watch_.stopped({{7, "mpirun", std::nullopt}}, now_);
  pass_beating(seconds(2));
  watch_.stopped({}, now_);
  watch_.heard(Rank(1), now_);
  watch_.heard(Rank(2), now_);
  pass_beating(seconds(1));
  watch_.stopped({{7, "mpirun", std::nullopt}}, now_);
  EXPECT_FALSE(check());
}

TEST_F(JobWatchTest, EndsAtOnceOnRequestWhatHasNotBegun) {
  greet_all();
  watch_.asked_to_leave();
  ASSERT_TRUE(check());
  EXPECT_TRUE(check()->is(ExitCode::kPreempted));
}

TEST_F(JobWatchTest, LeavesARequestToACoordinatorThatRuns) {
  settle_all();
  watch_.asked_to_leave();
  EXPECT_FALSE(check());
}

TEST_F(JobWatchTest, SaysNothingMoreOfAJobThatHasSaidHowItEnds) {
  settle_all();
  watch_.ended(3, now_);
  watch_.gone(Rank(2), now_);
  pass(milliseconds(800));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, WaitsForSnapshotsThatAreOnTheirWayToTheDisk) {
  settle_all();
  watch_.ended(3, now_);
  for (int i = 0; i < 600; ++i) {
    watch_.keeps_snapshots(now_);
    pass(seconds(1));
    EXPECT_FALSE(check());
  }
  pass(milliseconds(2'000));
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, DoesNotWaitForSnapshotsForEver) {
  settle_all();
  watch_.ended(3, now_);
  pass(seconds(603));
  watch_.keeps_snapshots(now_);
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, WaitsLongerForTheEndWhereNobodyWasLost) {
  settle_all();
  watch_.ended(75, now_);
  pass(milliseconds(14'900));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, EndsWhatACoordinatorLeavesInMpiInit) {
  greet_all();
  watch_.ended(75, now_);
  watch_.gone(Rank(0), now_);
  pass(milliseconds(300));
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, EndsAMpirunThatOutlivesItsRanks) {
  settle_all();
  watch_.ended(0, now_);
  for (int rank = 0; rank < 3; ++rank) {
    watch_.gone(Rank(rank), now_);
  }
  pass(milliseconds(1900));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_EQ(reason(), "");
}

TEST_F(JobWatchTest, WaitsLessForAMpirunWhoseJobEndedEarly) {
  settle_all();
  watch_.ended(75, now_);
  for (int rank = 0; rank < 3; ++rank) {
    watch_.gone(Rank(rank), now_);
  }
  pass(milliseconds(600));
  EXPECT_FALSE(check());
  pass(milliseconds(100));
  EXPECT_EQ(reason(), "");
}

TEST(JobWatchOfManyRanks, GivesThemTheTimeToTakeTurns) {
  const JobWatch::TimePoint start{};
  JobWatch watch(64, start, {});
  watch.greeted({.rank = Rank(0), .process = {.pid = 1}, .host = "node-a"}, start);
  EXPECT_FALSE(watch.check(start + std::chrono::seconds(6)));
  EXPECT_TRUE(watch.check(start + std::chrono::seconds(7)));
}

}  // namespace
}  // namespace gangway::launch
