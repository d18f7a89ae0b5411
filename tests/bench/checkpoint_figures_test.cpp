// SPDX-License-Identifier: MIT
#include "bench/command/checkpoint_figures.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "bench/command/bench_checkpoint.hpp"

namespace gangway::bench {
namespace {

using ::testing::ContainsRegex;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr double kNear = 1e-9;

std::string saving_tick(int step, double seconds, double waited, double held = 0.0,
                        const std::string& saved = "") {
  return fmt::format(
      R"({{"step": {}, "seconds_tick": {}, "exposed_percent": {}, "snapshots": {}, "snapshot_seconds": {}, "snapshot_wait_seconds": {}, "checkpoints": [{}]}})"
      "\n",
      step, seconds, 100.0 * waited / seconds, held > 0.0 ? 1 : 0, 2.0 * held, held, saved);
}

/// A step of 100 ms waits 10 ms; the snapshot of step 4 is reported with step 5.
std::string stats() {
  return saving_tick(1, 9.0, 5.0) + saving_tick(2, 0.1, 0.01) + saving_tick(3, 0.1, 0.01) +
         saving_tick(4, 0.102, 0.011) + saving_tick(5, 0.104, 0.013, 0.008) +
         saving_tick(6, 0.1, 0.01, 0.0, R"({"step": 4, "seconds": 0.5, "mib": 2.0})") +
         saving_tick(7, 0.1, 0.01);
}

TEST(CheckpointRun, SetsTheStepsAroundASnapshotAgainstTheOthers) {
  const CheckpointRun run = checkpoint_run(stats(), 1);
  EXPECT_EQ(run.steps, 6);
  EXPECT_NEAR(run.seconds, 0.606, kNear) << "the warm-up left out";
  EXPECT_NEAR(run.step_seconds, 0.1, kNear);
  EXPECT_THAT(run.stalls.held, ElementsAre(DoubleEq(0.008)));
  EXPECT_THAT(run.stalls.copied, ElementsAre(DoubleEq(0.016)));
  EXPECT_THAT(run.stalls.waited, ElementsAre(DoubleNear(0.004, kNear)));
  EXPECT_THAT(run.stalls.longer, ElementsAre(DoubleNear(0.006, kNear)));
  ASSERT_EQ(run.saves.size(), 1U);
  EXPECT_DOUBLE_EQ(run.saves[0].seconds, 0.5);
  EXPECT_DOUBLE_EQ(run.saves[0].bytes, 2097152.0);
}

TEST(CheckpointRun, RefusesARunThatIsTooShortAndALineThatIsNoTick) {
  EXPECT_THROW((void)checkpoint_run(stats(), 7), EnvironmentError);
  EXPECT_THROW((void)checkpoint_run("{\"step\": 4}\n", 0), EnvironmentError);
  EXPECT_THROW((void)checkpoint_run("not JSON\n", 0), EnvironmentError);
}

TEST(Percentile, IsTheNearestRank) {
  EXPECT_EQ(percentile({3.0, 1.0, 2.0}, 50.0), 2.0);
  EXPECT_EQ(percentile({3.0, 1.0, 2.0}, 99.0), 3.0);
  EXPECT_EQ(percentile({3.0, 1.0, 2.0}, 1.0), 1.0);
  EXPECT_EQ(percentile({7.0}, 50.0), 7.0);
}

CheckpointRounds rounds() {
  CheckpointRun with{.steps = 100, .seconds = 10.0};
  with.stalls = {
      .held = {0.01, 0.03}, .copied = {0.02, 0.04}, .waited = {0.0, 0.005}, .longer = {0.02, 0.02}};
  with.saves = {{.seconds = 0.1, .bytes = 50e6}};
  return {.state_bytes = 50e6,
          .with = {with, with},
          .without = {{.steps = 100, .seconds = 9.9}, {.steps = 100, .seconds = 9.8}},
          .copies = {{.plain = 0.004, .snapshot = 0.006}},
          .stores = {{.plain_write = 0.05, .save = 0.1, .plain_read = 0.04, .load = 0.05}},
          .rivals = {{.name = "the rival", .stalls = {0.1, 0.2}}}};
}

TEST(StallTable, HasPercentilesAndTheShareOfTheTime) {
  const std::string text = stall_table(rounds());
  EXPECT_THAT(text, ContainsRegex("updates waited for the copy +4 +10.00 +30.00 +30.00 +0.400 %"));
  EXPECT_THAT(text, ContainsRegex("lane copied, beside +4 +20.00 +40.00"));
  EXPECT_THAT(text, ContainsRegex("compute waited more +4 +0.00 +5.00 +5.00 +0.050 %"));
  EXPECT_THAT(text, ContainsRegex("memcpy, no training +1 +4.00 +4.00 +4.00 +-"));
  EXPECT_THAT(text, ContainsRegex("copy and hash, no training +1 +6.00"));
  EXPECT_THAT(text, ContainsRegex("the rival +2 +100.00 +200.00"));
}

TEST(StallTable, StandsWithoutAnyCheckpoint) {
  CheckpointRounds none = rounds();
  none.with = {{.steps = 1, .seconds = 1.0}};
  EXPECT_THAT(stall_table(none), ContainsRegex("updates waited for the copy +0 +- +- +- +-"));
}

TEST(SpeedLine, ComparesTheTurnsOfOneRound) {
  EXPECT_EQ(
      speed_line(rounds()),
      "steps/s 10.000 with a checkpoint every 50 steps, 10.101 without: ratio 0.9800 (minimum "
      "0.9800) of 2 rounds");
}

TEST(StoreTable, SetsTheStoreAgainstTheDisk) {
  const std::string text = store_table(rounds());
  EXPECT_THAT(text, ContainsRegex("plain direct writes, synced +1000 "));
  EXPECT_THAT(text, ContainsRegex("save, no training +500 .* 50 %"));
  EXPECT_THAT(text, ContainsRegex("save behind the training +500 .* 50 %"));
  EXPECT_THAT(text, ContainsRegex("load, every chunk verified +1000 .* 80 %"));
}

TEST(Rivals, AreCollectedByTheirNames) {
  std::vector<RivalRow> rows;
  add_rivals("{\"row\": \"a\", \"stalls\": [0.1]}\n{\"row\": \"b\", \"stalls\": []}\n", rows);
  add_rivals("{\"row\": \"a\", \"stalls\": [0.2]}\n", rows);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].stalls, ElementsAre(0.1, 0.2));
  EXPECT_THROW(add_rivals("Traceback\n", rows), EnvironmentError);
  EXPECT_THROW(add_rivals("{\"row\": 1, \"stalls\": []}\n", rows), EnvironmentError);
}

TEST(BenchModel, HasTheSizeAskedFor) {
  for (const int megabytes : {1, 50, 500, 5000}) {
    const BenchModel model = bench_model(megabytes);
    EXPECT_GE(model.state_bytes, megabytes * 1e6);
    EXPECT_LT(model.state_bytes, megabytes * 1e6 * 1.03 + 1e5);
    EXPECT_GE(model.batch, 2);
  }
}

}  // namespace
}  // namespace gangway::bench
