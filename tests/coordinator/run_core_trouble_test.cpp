// SPDX-License-Identifier: MIT
// What RunCore does with trouble and with scores.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();

RunCoreSettings with_rollbacks(RunCoreSettings settings) {
  settings.divergence = {.policy = DivergencePolicy::kRollback, .retries = 1, .rewind = 4};
  settings.welcome.incarnation = 3;
  settings.go_on = "GO ON";
  return settings;
}

class RunCoreTroubleTest : public RunCoreTest {
 protected:
  void use(RunCoreSettings settings) { core_ = RunCore(std::move(settings), TimePoint{}); }

  /// Both workers are through `step`, the first with this loss.
  void both(std::int64_t step, double loss) {
    now_ += std::chrono::milliseconds(600);
    progress(1, step, loss);
    progress(2, step);
  }
  /// It has found trouble that shows when `step` is done.
  void stop_at(int rank, std::int64_t step, const std::string& reason) {
    send(rank,
         messages::Stop{
             .exit_code = static_cast<int>(ExitCode::kDiverged), .reason = reason, .step = step});
  }
  /// A job that saves at step 4 has done 6, and that checkpoint is still being written.
  void save_at_four() {
    RunCoreSettings settings = with_rollbacks(this->settings());
    settings.leases.checkpoint_steps = {4};
    use(std::move(settings));
    begin();
    step_to(0, 6);
  }
  /// The checkpoint of `step` has got its score, and what follows of it is on the disk.
  void score(std::int64_t step, double value) {
    keep(core_.scored({.step = step, .value = value}));
    keep(core_.recorded(now_));
  }
};

TEST_F(RunCoreTroubleTest, RecordsARollbackBeforeTheJobEndsForIt) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 9);
  both(10, kNotFinite);
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_FALSE(core_.ended());
  const Decisions decisions = seen<RecordDecisions>().front().decisions;
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].change, (SettingsChange{.step = 4, .lr_factor = 0.5, .reseed = 1}));
  EXPECT_EQ(decisions[0].seen, 10);
  EXPECT_EQ(decisions[0].start, 3);
  keep(core_.recorded(now_));
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_EQ(run_end().rank, Rank(1)) << "who told of it";
  EXPECT_TRUE(run_end().rolled_back);
  EXPECT_THAT(run_end().reason, HasSubstr("goes back to step 4"));
  EXPECT_THAT(run_end().reason, HasSubstr("GO ON"));
  EXPECT_EQ(sent<messages::Stop>(2).size(), 1U);
}

TEST_F(RunCoreTroubleTest, DecidesAlikeWhoeverComesFirst) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 7);
  now_ += std::chrono::milliseconds(600);
  progress(2, 8);
  progress(2, 9, kNotFinite);  // ahead of the one whose loss was bad first
  EXPECT_TRUE(seen<RecordDecisions>().empty());
  progress(1, 8, kNotFinite);
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 8);
}

TEST_F(RunCoreTroubleTest, EndsWithTheStoryWhenAllRetriesAreGone) {
  RunCoreSettings settings = with_rollbacks(this->settings());
  settings.decisions = {
      {.kind = DecisionKind::kRollback, .change = {.step = 4, .lr_factor = 0.5}, .seen = 9}};
  use(std::move(settings));
  begin();
  step_to(0, 9);
  both(10, kNotFinite);
  EXPECT_TRUE(seen<RecordDecisions>().empty());
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_FALSE(run_end().rolled_back);
  EXPECT_THAT(run_end().reason, HasSubstr("step 10"));
  EXPECT_THAT(run_end().reason, HasSubstr("tried once: from step 4 on"));
}

TEST_F(RunCoreTroubleTest, EndsWithTheDisksErrorWhereNothingCanBeRecorded) {
  use(with_rollbacks(settings()));
  begin();
  both(1, kNotFinite);
  keep(core_.unrecorded("the disk is full"));
  EXPECT_EQ(run_end().exit_code, 6);
  EXPECT_FALSE(run_end().rolled_back);
}

TEST_F(RunCoreTroubleTest, GoesBackToWhereASnapshotWasNotFinite) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 9);
  stop(2, ExitCode::kDiverged, "step 10: 'generator.weight' is not finite");
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().change.step, 4);
}

TEST_F(RunCoreTroubleTest, DatesWhatAWorkerFoundByItsStepWhoeverComesFirst) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 7);
  progress(2, 8);
  stop_at(2, 9, "step 9: a bound");
  EXPECT_TRUE(seen<RecordDecisions>().empty()) << "the other's loss of step 8 is still to come";
  EXPECT_TRUE(clock(std::chrono::milliseconds(100)).empty());
  progress(1, 8);
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 9);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().change.step, 4);
}

TEST_F(RunCoreTroubleTest, TakesAnEarlierLossForTheReasonThoughALaterOneWasToldBefore) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 6);
  progress(2, 7);
  stop_at(2, 8, "step 8: a bound");
  progress(1, 7, kNotFinite);
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 7);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().change.step, 0);
}

TEST_F(RunCoreTroubleTest, WaitsForTheCheckpointOfAHealthyStep) {
  save_at_four();
  both(7, kNotFinite);
  EXPECT_TRUE(seen<RecordDecisions>().empty()) << "its files are still to come";
  part(1, 4);
  part(2, 4);
  EXPECT_TRUE(clock(std::chrono::milliseconds(100)).empty()) << "its manifest is";
  keep(core_.checkpoint_committed(4, now_));
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 7);
}

// Workers hold leases of several steps: what they report behind the trouble is void.
TEST_F(RunCoreTroubleTest, IgnoresTheStepsBehindTroubleWhileItWaits) {
  save_at_four();
  both(7, kNotFinite);
  both(8, kNotFinite);
  both(9, 0.7);
  part(1, 4);
  part(2, 4);
  keep(core_.checkpoint_committed(4, now_));
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 7);
}

// Else a slow commit of the healthy one would leave the job with another checkpoint than a fast
// one.
TEST_F(RunCoreTroubleTest, CommitsNothingFromBehindTroubleWhileItWaits) {
  RunCoreSettings settings = with_rollbacks(this->settings());
  settings.leases.checkpoint_steps = {4, 8};
  use(std::move(settings));
  begin();
  step_to(0, 6);
  part(1, 4);
  part(2, 4);
  ASSERT_EQ(seen<CommitCheckpoint>().size(), 1U);
  both(7, kNotFinite);
  part(1, 8);
  part(2, 8);
  EXPECT_EQ(seen<CommitCheckpoint>().size(), 1U);
  keep(core_.checkpoint_committed(4, now_));
  EXPECT_EQ(seen<RecordDecisions>().size(), 1U);
}

// The checkpoint behind the trouble stays open: nobody who left owes it any more.
TEST_F(RunCoreTroubleTest, LeavesNoOtherEndToAJobWhoseRollbackIsBeingRecorded) {
  RunCoreSettings settings = with_rollbacks(this->settings());
  settings.leases.checkpoint_steps = {4, 8};
  use(std::move(settings));
  begin();
  step_to(0, 6);
  part(1, 4);
  part(2, 4);
  stop_at(1, 7, "step 7: a bound");
  stop_at(2, 7, "step 7: a bound");
  keep(core_.checkpoint_committed(4, now_));
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_FALSE(core_.ended());
  keep(core_.recorded(now_));
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_TRUE(run_end().rolled_back);
}

TEST_F(RunCoreTroubleTest, GoesOnWithoutACheckpointThatDoesNotGetOntoTheDisk) {
  save_at_four();
  both(7, kNotFinite);
  wait(std::chrono::seconds(11));
  EXPECT_EQ(seen<RecordDecisions>().size(), 1U);
}

TEST_F(RunCoreTroubleTest, DoesNotWaitForAFileOfOneWhoHasLeft) {
  save_at_four();
  part(1, 4);
  stop_at(2, 7, "step 7: a bound");
  EXPECT_EQ(seen<RecordDecisions>().size(), 1U);
}

TEST_F(RunCoreTroubleTest, AnswersInTheEndWhereSomebodyWillNeverTell) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 7);
  stop_at(2, 9, "step 9: a bound");
  core_.on_lifeline_closed(Rank(1), now_);
  wait(std::chrono::seconds(3));
  ASSERT_EQ(seen<RecordDecisions>().size(), 1U);
  EXPECT_EQ(seen<RecordDecisions>().front().decisions.front().seen, 9);
}

RunCoreSettings with_scores(RunCoreSettings settings) {
  settings.leases = {.total_steps = 40, .tick_steps = 10, .checkpoint_steps = {10}};
  settings.ticks.total_steps = 40;
  settings.scores = {.plateau = {.patience = 1, .factor = 0.5},
                     .early_stop = 2,
                     .checkpoint_steps = {10},
                     .total_steps = 40};
  return settings;
}

TEST_F(RunCoreTroubleTest, HoldsTrainingUntilTheScoreIsThere) {
  use(with_scores(settings()));
  begin();
  step_to(0, 20);
  for (const std::int64_t step : {10, 20}) {
    part(1, step);
    part(2, step);
    keep(core_.checkpoint_committed(step, now_));
  }
  EXPECT_EQ(seen<GrantLease>().back().lease.end, 20);
  wait(std::chrono::seconds(1300));
  EXPECT_FALSE(core_.ended()) << "who waits for a score is not silent";
  for (const int rank : {1, 2}) {
    EXPECT_EQ(sent<messages::Patience>(rank).size(), 8U)
        << "and is told to, several times before it gives a lease up";
  }
  keep(core_.scored({.step = 10, .value = 1.0}));
  EXPECT_EQ(seen<GrantLease>().back().lease.end, 20) << "not before it is on the disk";
  keep(core_.recorded(now_));
  EXPECT_GT(seen<GrantLease>().back().lease.end, 20);
}

TEST_F(RunCoreTroubleTest, EndsForNothingElseWhileARollbackIsOnItsWayToTheDisk) {
  use(with_rollbacks(settings()));
  begin();
  step_to(0, 9);
  both(10, kNotFinite);
  for (const int rank : {1, 2}) {
    core_.on_lifeline_closed(Rank(rank), now_);  // each leaves for the same trouble
  }
  wait(std::chrono::seconds(65));  // the disk hangs
  EXPECT_FALSE(core_.ended());
  keep(core_.recorded(now_));
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_TRUE(run_end().rolled_back);
}

TEST_F(RunCoreTroubleTest, DoesNothingOfADecisionWhileAnEarlierOneIsWritten) {
  use(with_scores(settings()));
  begin();
  step_to(0, 20);
  keep(core_.scored({.step = 10, .value = 1.0}));
  keep(core_.scored({.step = 20, .value = 1.0}));
  const std::size_t granted = seen<GrantLease>().size();
  keep(core_.recorded(now_));
  EXPECT_EQ(seen<GrantLease>().size(), granted) << "the second is still on its way";
  keep(core_.recorded(now_));
  EXPECT_GT(seen<GrantLease>().size(), granted);
}

TEST_F(RunCoreTroubleTest, LowersRatesAndThenEndsAtStepsThatTheJobFixes) {
  use(with_scores(settings()));
  begin();
  step_to(0, 20);
  score(10, 1.0);
  step_to(20, 30);
  score(20, 2.0);
  std::vector<SettingsChange> told;
  for (const GrantLease& grant : seen<GrantLease>()) {
    told.insert(told.end(), grant.lease.changes.begin(), grant.lease.changes.end());
  }
  EXPECT_THAT(told, ::testing::ElementsAre(SettingsChange{.step = 30, .lr_factor = 0.5}));
}

TEST_F(RunCoreTroubleTest, EndsEarlyWithTheCheckpointThatIsThere) {
  RunCoreSettings settings = with_scores(this->settings());
  settings.scores.early_stop = 1;
  use(std::move(settings));
  begin();
  step_to(0, 20);
  score(10, 1.0);
  step_to(20, 30);
  score(20, 2.0);
  EXPECT_EQ(seen<GrantLease>().back().lease.end, 30);
  EXPECT_TRUE(seen<GrantLease>().back().lease.last);
  for (const std::int64_t step : {10, 20, 30}) {
    part(1, step);
    part(2, step);
    keep(core_.checkpoint_committed(step, now_));
  }
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 0);
  EXPECT_EQ(run_end().step, 30);
  EXPECT_THAT(run_end().reason,
              HasSubstr("stopped early at step 30: a score is not better than that of step 10"));
}

TEST_F(RunCoreTroubleTest, RemembersAtStepsWhoseStateAStartMayBeginWith) {
  RunCoreSettings settings = with_rollbacks(this->settings());
  settings.divergence.loss_factor = 20.0;
  settings.snapshots.every = 4;
  use(settings);
  begin();
  step_to(0, 9);
  ASSERT_EQ(seen<KeepWatch>().size(), 2U) << "of steps 4 and 8";
  settings.watch_history = WatchHistory::parse(seen<KeepWatch>().back().text);
  ASSERT_TRUE(settings.watch_history.at(8));
  EXPECT_EQ(settings.watch_history.at(8)->front().sizes.size(), 8U);
  use(settings);
  all_.clear();
  begin_at(8);
  step_to(8, 10);  // which is saved
  const auto kept = WatchHistory::parse(seen<KeepWatch>().back().text).at(10);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->front().sizes.size(), 10U) << "as if it had never ended";
}

TEST_F(RunCoreTroubleTest, GoesOnCountingFromAStateInWhichALossWasBeyondItsBound) {
  RunCoreSettings settings = this->settings();
  settings.watched.front().loss_bound = 10.0;
  settings.leases.total_steps = settings.ticks.total_steps = 40;
  use(settings);
  begin();
  step_to(0, 3);  // as it should be: nothing is remembered
  for (std::int64_t step = 4; step <= 11; ++step) {
    both(step, 1e6);
  }
  settings.watch_history = WatchHistory::parse(seen<KeepWatch>().back().text);
  ASSERT_TRUE(settings.watch_history.at(10)) << "which is saved";
  EXPECT_EQ(settings.watch_history.at(10)->front().beyond, 7);
  use(settings);
  all_.clear();
  begin_at(10);
  for (std::int64_t step = 11; step < 28; ++step) {
    both(step, 1e6);
  }
  keep(core_.on_clock(now_ += std::chrono::seconds(20)));
  EXPECT_TRUE(seen<EndJob>().empty());
  both(28, 1e6);
  keep(core_.on_clock(now_ += std::chrono::seconds(20)));
  EXPECT_EQ(run_end().exit_code, 4);
  EXPECT_THAT(run_end().reason, HasSubstr("step 28: diverged: the generator's loss is 5e+05"));
}

TEST_F(RunCoreTroubleTest, KeepsNothingWhereNoTroubleFollowsOfIt) {
  begin();
  step_to(0, 12);
  EXPECT_TRUE(seen<KeepWatch>().empty());
}

}  // namespace
}  // namespace gangway::coordinator
