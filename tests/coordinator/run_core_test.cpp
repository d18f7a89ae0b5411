// SPDX-License-Identifier: MIT
#include <csignal>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(RunCoreTest, NamesForWhomTheOthersWaitAfterThreeStepsOfTheUsual) {
  begin();
  step_to(0, 3);                        // a step takes 0.6 s
  stall(std::chrono::milliseconds(0));  // the event loop itself was late
  const auto beat = [this] {
    core_.on_heartbeat(Rank(1), Pulse::kWaits, now_);
    core_.on_heartbeat(Rank(2), Pulse::kWorks, now_);
  };
  const auto lines_after = [this](std::chrono::milliseconds later) {
    clock(later);
    std::vector<std::string> lines;
    for (const Say& say : seen<Say>()) {
      lines.push_back(say.line);
    }
    return lines;
  };
  beat();
  EXPECT_THAT(lines_after(std::chrono::milliseconds(1900)), IsEmpty());
  beat();
  EXPECT_THAT(lines_after(std::chrono::milliseconds(200)),
              ElementsAre(AllOf(HasSubstr("no step since step 3 for 2."),
                                HasSubstr("0.60 s is usual: the others wait for rank 2 (host "))));
  beat();
  EXPECT_THAT(lines_after(std::chrono::milliseconds(5000)), SizeIs(1));  // only one line
}

TEST_F(RunCoreTest, SaysNothingOfALateStepWhereAllWorkersCompute) {
  begin();
  step_to(0, 3);
  stall(milliseconds(0));
  const auto lines_with = [this](Pulse of_second) {
    core_.on_heartbeat(Rank(1), Pulse::kWorks, now_);
    core_.on_heartbeat(Rank(2), of_second, now_);
    clock(milliseconds(3000));
    return seen<Say>().size();
  };
  EXPECT_EQ(lines_with(Pulse::kWorks), 0U);
  EXPECT_EQ(lines_with(Pulse::kWaits), 1U);
}

TEST_F(RunCoreTest, WelcomesWithTheEpochAndGrantsOnceAllAreReady) {
  hello(1);
  ASSERT_EQ(seen<SendMessage>().size(), 1U);
  ASSERT_EQ(sent<messages::Welcome>(1).size(), 1U);
  EXPECT_EQ(sent<messages::Welcome>(1)[0].epoch, 1);
  hello(2);
  ready(1);
  ready(2);
  keep(core_.on_lifeline_opened(Rank(1), now_));
  EXPECT_TRUE(seen<GrantLease>().empty());
  keep(core_.on_lifeline_opened(Rank(2), now_));
  EXPECT_EQ(seen<ShowPlacement>().size(), 1U);
  EXPECT_EQ(seen<GrantLease>().size(), 2U);
}

TEST_F(RunCoreTest, RunsAJobToItsEnd) {
  begin();
  step_to(0, 10);
  part(1, 10);
  part(2, 10);
  ASSERT_EQ(seen<CommitCheckpoint>().size(), 1U);
  keep(core_.checkpoint_committed(10, now_));
  step_to(10, 20);
  EXPECT_EQ(seen<ShowTick>().size(), 2U);
  part(1, 20);
  part(2, 20);
  keep(core_.checkpoint_committed(20, now_));
  EXPECT_FALSE(core_.ended());
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 0);
  EXPECT_TRUE(run_end().is_orderly);
  EXPECT_EQ(run_end().step, 20);
  EXPECT_TRUE(hello(1).empty()) << "nothing counts after the end";
}

TEST_F(RunCoreTest, NamesAWorkerWhoseLifelineClosedAndStopsTheOthers) {
  begin();
  core_.on_lifeline_closed(Rank(2), now_);
  EXPECT_TRUE(clock(milliseconds(49)).empty());
  clock(milliseconds(1));
  EXPECT_EQ(run_end().exit_code, 3);
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_FALSE(run_end().is_orderly);
  EXPECT_THAT(run_end().reason, HasSubstr("pid 102"));
  EXPECT_EQ(core_.membership().epoch(), 2);
  ASSERT_EQ(sent<messages::Stop>(1).size(), 1U);
  EXPECT_EQ(sent<messages::Stop>(1)[0].exit_code, 3);
  EXPECT_TRUE(sent<messages::Stop>(2).empty());
}

TEST_F(RunCoreTest, BlamesTheDeadWorkerAndNotTheOneThatComplainedFirst) {
  begin();
  stop(1, ExitCode::kWorkerLost, "peer 2 is silent");
  core_.on_lifeline_closed(Rank(1), now_);
  EXPECT_TRUE(clock(milliseconds(20)).empty());
  core_.on_lifeline_closed(Rank(2), now_);
  clock(milliseconds(60));
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_THAT(run_end().reason, HasSubstr("was killed (SIGKILL"));
}

TEST_F(RunCoreTest, BelievesAComplaintWhenNobodyDied) {
  begin();
  stop(1, ExitCode::kWorkerLost, "peer 2 was silent for 60 s");
  clock(milliseconds(2'000));
  EXPECT_EQ(run_end().exit_code, 3);
  EXPECT_THAT(run_end().reason, HasSubstr("rank 1 (host node-a, pid 101): peer 2 was silent"));
}

TEST_F(RunCoreTest, NamesTheAccusedAndNotTheComplainer) {
  begin();
  stop(1, ExitCode::kWorkerLost, "rank 1 waited 60 s for rank 2", /*accused=*/2);
  clock(milliseconds(400));
  EXPECT_FALSE(core_.ended()) << "the accused may have a word to say";
  clock(milliseconds(300));
  EXPECT_EQ(run_end().exit_code, 3);
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_THAT(run_end().reason, HasSubstr("rank 2 (host node-a, pid 102) keeps its peers waiting"));
}

TEST_F(RunCoreTest, BelievesNoAccusationOfARankThatThereIsNot) {
  begin();
  stop(1, ExitCode::kWorkerLost, "rank 1 waited 60 s for rank 8", /*accused=*/8);
  clock(milliseconds(2'000));
  EXPECT_EQ(run_end().rank, Rank(1));
}

TEST_F(RunCoreTest, EndsWithTheCodeAndReasonOfAWorkerThatCannotGoOn) {
  begin();
  stop(2, ExitCode::kUsage, "unreadable data");
  EXPECT_EQ(run_end().exit_code, 2);
  EXPECT_THAT(run_end().reason, HasSubstr("unreadable data"));
}

TEST_F(RunCoreTest, NamesTheSlowestOfThoseWithoutProgress) {
  begin();
  step_to(0, 1);
  progress(1, 2);
  EXPECT_TRUE(clock(seconds(59)).empty());
  clock(seconds(2));
  EXPECT_EQ(run_end().exit_code, 3);
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_THAT(run_end().reason, HasSubstr("no progress"));
}

TEST_F(RunCoreTest, TakesItsOwnStallForNobodysSilence) {
  RunCoreSettings strict = settings();
  strict.limits.heartbeat = seconds(10);
  core_ = RunCore(strict, now_);
  begin();
  step_to(0, 1);
  clock(seconds(1));
  EXPECT_TRUE(stall(seconds(100)).empty()) << "neither heartbeats nor steps were read meanwhile";
  EXPECT_TRUE(clock(seconds(8)).empty());
  clock(seconds(2));
  EXPECT_EQ(run_end().exit_code, 3);
  EXPECT_THAT(run_end().reason, HasSubstr("no heartbeat"));
}

TEST_F(RunCoreTest, GivesNewsOfADeathTheTimeOfItsOwnStall) {
  begin();
  clock(milliseconds(10));
  stop(1, ExitCode::kWorkerLost, "peer 2 is silent");
  EXPECT_TRUE(stall(seconds(12)).empty());
  core_.on_lifeline_closed(Rank(2), now_);
  clock(milliseconds(60));
  EXPECT_EQ(run_end().rank, Rank(2));
}

TEST_F(RunCoreTest, AllowsTheFirstStepTenTimesTheSilence) {
  begin();
  EXPECT_TRUE(clock(seconds(599)).empty());
  clock(seconds(2));
  EXPECT_EQ(run_end().exit_code, 3);
}

TEST_F(RunCoreTest, TakesPicturesAndPartsOfCheckpointsForLife) {
  begin();
  step_to(0, 10);
  clock(seconds(40));
  picture();
  EXPECT_TRUE(clock(seconds(40)).empty());
  part(2, 10);
  EXPECT_TRUE(clock(seconds(40)).empty());
  clock(seconds(40));
  EXPECT_EQ(run_end().exit_code, 3);
}

TEST_F(RunCoreTest, EndsAJobThatDiverged) {
  begin();
  progress(2, 1, std::numeric_limits<double>::quiet_NaN());
  progress(1, 1);
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_EQ(run_end().rank, Rank(2));
}

TEST_F(RunCoreTest, IsDoneAndNotPreemptedWhenTheRequestCameAtTheEnd) {
  begin();
  step_to(0, 20);
  keep(core_.on_request(Request::kSaveAndLeave, SIGUSR1, now_));
  for (const std::int64_t step : {10, 20}) {
    part(1, step);
    part(2, step);
    keep(core_.checkpoint_committed(step, now_));
  }
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 0);
}

TEST_F(RunCoreTest, LeavesWith75BeforeTheFirstStepWithoutASave) {
  hello(1);
  keep(core_.on_request(Request::kSaveAndLeave, SIGTERM, now_));
  EXPECT_EQ(run_end().exit_code, 75);
}

TEST_F(RunCoreTest, EndsAtOnceWhenAskedTo) {
  begin();
  keep(core_.on_request(Request::kEndNow, SIGINT, now_));
  EXPECT_EQ(run_end().exit_code, 130);
  EXPECT_FALSE(run_end().is_orderly);
}

TEST_F(RunCoreTest, DropsProgressOfAnotherEpochAndRefusesWhatWorkersNeverSay) {
  begin();
  EXPECT_TRUE(send(1, messages::Progress{.step = 1}, /*epoch=*/0).empty());
  send(1, messages::Lease{});
  EXPECT_EQ(run_end().exit_code, 1);
  EXPECT_EQ(run_end().reason,
            "rank 1 (host node-a, pid 101) sent a message of kind Lease, which only the "
            "coordinator sends");
}

TEST_F(RunCoreTest, RefusesAGoodbyeBeforeTheLastLease) {
  begin();
  goodbye(1);
  EXPECT_EQ(run_end().exit_code, 1);
}

TEST_F(RunCoreTest, PassesPicturesOn) {
  begin();
  picture();
  EXPECT_EQ(seen<ShowPicture>().front().picture.file, "fakes000001.png");
}

}  // namespace
}  // namespace gangway::coordinator
