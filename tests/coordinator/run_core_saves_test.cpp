// SPDX-License-Identifier: MIT
// What RunCore makes of checkpoints: asked for, failed, slow, and the last.
#include <csignal>

#include <gmock/gmock.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST_F(RunCoreTest, TakesALongLastSaveForNoHang) {
  train_to_the_last_save();
  part(1, 20);
  goodbye(1);
  for (int i = 0; i < 30; ++i) {
    wait(seconds(500));
    writes(2, 20);
  }
  EXPECT_FALSE(core_.ended());
  part(2, 20);
  goodbye(2);
  wait(seconds(500));
  EXPECT_FALSE(core_.ended()) << "the manifest is being written";
  keep(core_.checkpoint_committed(20, now_));
  EXPECT_EQ(run_end().exit_code, 0);
}

TEST_F(RunCoreTest, NamesTheRankWhoseDiskHangsAtTheEnd) {
  train_to_the_last_save();
  part(1, 20);
  goodbye(1);
  writes(2, 20);
  wait(seconds(600));
  EXPECT_FALSE(core_.ended());
  wait(seconds(70));
  EXPECT_EQ(run_end().exit_code, 6);
  EXPECT_EQ(run_end().rank, Rank(2));
  EXPECT_THAT(run_end().reason,
              HasSubstr("has brought nothing of the last checkpoint to its disk for 660 s"));
}

TEST_F(RunCoreTest, WaitsForALastManifestAndNotForEver) {
  train_to_the_last_save();
  part(1, 20);
  part(2, 20);
  goodbyes();
  wait(seconds(599));
  EXPECT_FALSE(core_.ended());
  wait(seconds(2));
  EXPECT_EQ(run_end().exit_code, 6);
  EXPECT_THAT(run_end().reason, HasSubstr("the manifest of the last checkpoint"));
}

TEST_F(RunCoreTest, LetsNobodyHangBecauseADiskTakesSomething) {
  begin();
  step_to(0, 12);
  for (int i = 0; i < 7; ++i) {
    wait(seconds(10));
    writes(1, 10);
  }
  EXPECT_EQ(run_end().exit_code, 3) << "rank 2 makes no step, and has more to do than to write";
  EXPECT_EQ(run_end().rank, Rank(2));
}

TEST_F(RunCoreTest, SaysAloudThatADiskHangsAndGoesOn) {
  begin();
  step_to(0, 12);
  for (std::int64_t step = 13; step < 18; ++step) {
    part(1, 10);
    wait(seconds(50));
    step_to(step - 1, step);
  }
  EXPECT_FALSE(core_.ended());
  all_ = without_late(std::move(all_));
  ASSERT_EQ(seen<Say>().size(), 1U);
  EXPECT_THAT(seen<Say>()[0].line,
              HasSubstr("ALARM checkpoint of step 10 has waited 200 s for the file of rank 2"));
}

TEST_F(RunCoreTest, WarnsOfFailedSavesLoudlyFromTheThirdOnAndGoesOn) {
  begin();
  for (const std::int64_t step : {1, 2, 3}) {
    keep(core_.checkpoint_failed(step, "disk full", now_));
  }
  EXPECT_THAT(seen<Say>().at(2).line, HasSubstr("ALARM 3 checkpoints in a row"));
  EXPECT_FALSE(core_.ended());
}

TEST_F(RunCoreTest, TriesAgainSoonAfterAFailedSave) {
  begin();
  keep(core_.checkpoint_failed(1, "disk full", now_));
  EXPECT_TRUE(core_.on_clock(now_ + milliseconds(900)).empty());
  keep(core_.on_clock(now_ + milliseconds(1100)));
  EXPECT_TRUE(seen<GrantLease>().back().checkpoint_step);
}

TEST_F(RunCoreTest, LeavesASaveByTheClockShortlyBeforeTheEndToTheEnd) {
  RunCoreSettings by_time = settings();
  by_time.leases.checkpoint_steps = {};
  by_time.save_interval = seconds(20);
  core_ = RunCore(by_time, now_);
  begin();
  step_to(0, 16);
  now_ += seconds(11);
  step_to(16, 17);  // of 20: the end is 1.8 s away
  EXPECT_TRUE(keep(core_.on_clock(now_)).empty());
  for (const GrantLease& lease : seen<GrantLease>()) {
    EXPECT_FALSE(lease.checkpoint_step) << "until the end";
  }
}

TEST_F(RunCoreTest, SavesAndLeavesOnRequestWith75) {
  begin();
  step_to(0, 3);
  keep(core_.on_request(Request::kSaveAndLeave, SIGUSR1, now_));
  keep(core_.on_request(Request::kSaveAndLeave, SIGTERM, now_));
  const auto last = seen<GrantLease>().back();
  EXPECT_TRUE(last.lease.last);
  const std::int64_t step = last.checkpoint_step.value();
  step_to(3, step);
  part(1, step);
  part(2, step);
  keep(core_.checkpoint_committed(step, now_));
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 75);
  EXPECT_TRUE(run_end().is_orderly);
}

TEST_F(RunCoreTest, LeavesWithTheSignalsCodeWhenTheSaveFailed) {
  begin();
  keep(core_.on_request(Request::kSaveAndLeave, SIGINT, now_));
  step_to(0, 2);
  part(1, 2, "disk full");
  part(2, 2);
  goodbyes();
  EXPECT_EQ(run_end().exit_code, 130);
  EXPECT_THAT(run_end().reason, HasSubstr("disk full"));
}

TEST_F(RunCoreTest, SavesOnRequestAndGoesOn) {
  begin();
  keep(core_.on_request(Request::kSaveAndGoOn, SIGUSR2, now_));
  const auto leases = seen<GrantLease>();
  EXPECT_EQ(leases.back().checkpoint_step, 2);
  EXPECT_FALSE(leases.back().lease.last);
}

}  // namespace
}  // namespace gangway::coordinator
