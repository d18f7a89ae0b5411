// SPDX-License-Identifier: MIT
#include "coordinator/steering/job_status.hpp"

#include <gmock/gmock.h>

#include "tests/coordinator/run_core_fixture.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::seconds;

TEST_F(RunCoreTest, TellsHowAJobStands) {
  EXPECT_EQ(core_.status(now_, 5.0).phase, JobPhase::kStarting);
  begin();
  EXPECT_EQ(core_.status(now_, 5.0).phase, JobPhase::kTraining);
  step_to(0, 12);
  part(1, 10);
  part(2, 10);
  keep(core_.checkpoint_committed(10, now_));
  picture();
  const JobStatus status = core_.status(now_ + seconds(3), 5.0);
  EXPECT_EQ(status.step, 12);
  EXPECT_EQ(status.total_steps, 20);
  EXPECT_DOUBLE_EQ(status.kimg, 0.12);
  EXPECT_DOUBLE_EQ(status.total_kimg, 0.2);
  EXPECT_DOUBLE_EQ(status.step_seconds, 0.6);
  EXPECT_NEAR(*status.seconds_left, 8 * 0.6, 1e-9);
  EXPECT_NEAR(status.images_per_second, 10 / 0.6, 1e-6);
  ASSERT_EQ(status.losses.size(), 2U);
  EXPECT_EQ(status.losses[0], (report::NetworkLoss{"generator", 1.0}));
  ASSERT_TRUE(status.tick.has_value());
  EXPECT_EQ(status.tick->step, 10);
  ASSERT_TRUE(status.checkpoint.has_value());
  EXPECT_EQ(status.checkpoint->step, 10);
  EXPECT_DOUBLE_EQ(status.checkpoint->age_seconds.value_or(-1.0), 3.0);
  EXPECT_DOUBLE_EQ(status.checkpoint->age_kimg, 0.02);
  EXPECT_THAT(status.pictures, ::testing::ElementsAre("fakes000001.png"));
  ASSERT_EQ(status.workers.size(), 2U);
  EXPECT_EQ(status.workers[1].rank, Rank(2));
  EXPECT_EQ(status.workers[1].host, "node-a");
  EXPECT_EQ(status.workers[1].pid, 102);
  EXPECT_EQ(status.workers[1].state, "ready");
  EXPECT_EQ(status.workers[1].steps_done, 12);
}

TEST_F(RunCoreTest, SaysWhatItWaitsForBeforeTheFirstStep) {
  const JobStatus first = core_.status(now_ + seconds(4), 5.0);
  EXPECT_DOUBLE_EQ(first.seconds_up, 4.0);
  EXPECT_EQ(first.waits_for, "rank 1, 2 to start");
  begin();
  EXPECT_EQ(core_.status(now_, 5.0).waits_for, "the first step");
  step_to(0, 1);
  EXPECT_EQ(core_.status(now_, 5.0).waits_for, "");
}

TEST(WaitBeforeFirstStep, NamesWhoIsLastInTheOrderOfAStart) {
  std::vector<WorkerStatus> workers(2);
  workers[0] = {.rank = Rank(1), .state = "ready"};
  workers[1] = {.rank = Rank(2), .state = "joined"};
  EXPECT_EQ(wait_before_first_step(JobPhase::kStarting, workers),
            "rank 2 to load networks, data and state");
  workers[0].state = "expected";
  EXPECT_EQ(wait_before_first_step(JobPhase::kStarting, workers), "rank 1 to start");
  workers[0].state = workers[1].state = "ready";
  EXPECT_EQ(wait_before_first_step(JobPhase::kStarting, workers), "the workers' lifelines");
  EXPECT_EQ(wait_before_first_step(JobPhase::kStopping, workers), "");
}

TEST_F(RunCoreTest, SaysThatItStopsOrHasEnded) {
  begin();
  keep(core_.on_request(Request::kSaveAndLeave, /*signal=*/15, now_));
  EXPECT_EQ(core_.status(now_, 5.0).phase, JobPhase::kStopping);
  EXPECT_FALSE(core_.status(now_, 5.0).seconds_left.has_value());
  keep(core_.on_request(Request::kEndNow, /*signal=*/2, now_));
  EXPECT_EQ(core_.status(now_, 5.0).phase, JobPhase::kEnded);
}

TEST_F(RunCoreTest, MarksAWorkerForWhichTheOthersWait) {
  begin();
  for (std::int64_t step = 1; step <= 10; ++step) {
    now_ += seconds(1);
    send(1, messages::Progress{
                .step = step, .losses = {{0, {1.0, 1.0}}}, .figures = {.exposed_seconds = 0.4}});
    send(2, messages::Progress{.step = step, .losses = {{1, {1.0, 1.0}}}});
  }
  const JobStatus status = core_.status(now_, 5.0);
  EXPECT_FALSE(status.workers[0].is_straggler);
  EXPECT_TRUE(status.workers[1].is_straggler);
  EXPECT_NEAR(status.workers[0].work_seconds_per_step, 0.6, 1e-9);
  EXPECT_NEAR(status.workers[0].wait_seconds_per_step, 0.4, 1e-9);
}

TEST_F(RunCoreTest, TellsWhatTheDriversLastSaidOfTheGpus) {
  begin();
  for (std::int64_t step = 1; step <= 10; ++step) {
    send(1, messages::Progress{
                .step = step,
                .losses = {{0, {1.0, 1.0}}},
                .gauges = messages::DeviceGauges{.celsius = 50.0 + static_cast<double>(step)}});
    send(2, messages::Progress{.step = step, .losses = {{1, {1.0, 1.0}}}});
  }
  const JobStatus status = core_.status(now_, 5.0);
  EXPECT_EQ(status.workers[0].gauges, messages::DeviceGauges{.celsius = 60.0});
  EXPECT_FALSE(status.workers[1].gauges);
}

TEST(Stragglers, AreNoneWhereWorkersAreAlike) {
  std::vector<WorkerStatus> workers(3);
  for (int rank = 1; rank <= 3; ++rank) {
    workers[static_cast<std::size_t>(rank - 1)].rank = Rank(rank);
    workers[static_cast<std::size_t>(rank - 1)].work_seconds_per_step = 1.0 + 0.05 * rank;
  }
  mark_stragglers(workers);
  for (const WorkerStatus& worker : workers) {
    EXPECT_FALSE(worker.is_straggler);
  }
}

}  // namespace
}  // namespace gangway::coordinator
