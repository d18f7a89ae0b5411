// SPDX-License-Identifier: MIT
#include "coordinator/core/checkpoint_ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

messages::CheckpointPart part(std::int64_t step, const std::string& error = {}) {
  return {.step = step, .file = "a file", .bytes = 8, .xxh3_128 = "00", .error = error};
}

TEST(CheckpointLedger, CompletesWhenEveryWorkerHasReportedInWhateverOrder) {
  CheckpointLedger ledger(3);
  ledger.begin(20, 1);
  EXPECT_FALSE(ledger.add(WorkerIndex(2), 1, part(20)));
  EXPECT_FALSE(ledger.add(WorkerIndex(2), 1, part(20))) << "a part twice";
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 1, part(20)));
  const auto complete = ledger.add(WorkerIndex(1), 1, part(20));
  ASSERT_TRUE(complete);
  EXPECT_EQ(complete->step, 20);
  ASSERT_EQ(complete->parts.size(), 3U);
  EXPECT_EQ(complete->parts[2].file, "a file");
  EXPECT_TRUE(complete->error.empty());
}

TEST(CheckpointLedger, DropsPartsOfOtherStepsEpochsAndWorkers) {
  CheckpointLedger ledger(1);
  ledger.begin(20, 2);
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 2, part(19)));
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 1, part(20)));
  EXPECT_FALSE(ledger.add(WorkerIndex(1), 2, part(20)));
  EXPECT_FALSE(ledger.add(WorkerIndex(-1), 2, part(20)));
  EXPECT_TRUE(ledger.add(WorkerIndex(0), 2, part(20)));
}

TEST(CheckpointLedger, KeepsTheStepsOfOverlappingCheckpointsApart) {
  CheckpointLedger ledger(2);
  ledger.begin(10, 1);
  ledger.begin(20, 1);
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 1, part(10)));
  EXPECT_FALSE(ledger.add(WorkerIndex(1), 1, part(20)));
  EXPECT_TRUE(ledger.add(WorkerIndex(0), 1, part(20)));
  ledger.committed(20);
  EXPECT_FALSE(ledger.idle());
  EXPECT_TRUE(ledger.add(WorkerIndex(1), 1, part(10)));
  ledger.committed(10);
  EXPECT_TRUE(ledger.idle());
  EXPECT_EQ(ledger.last_committed(), 20);
}

TEST(CheckpointLedger, WaitsForAllPartsBeforeItReportsAFailure) {
  CheckpointLedger ledger(2);
  ledger.begin(10, 1);
  EXPECT_FALSE(ledger.add(WorkerIndex(1), 1, part(10, "disk full")));
  const auto complete = ledger.add(WorkerIndex(0), 1, part(10));
  ASSERT_TRUE(complete);
  EXPECT_EQ(complete->error, "disk full");
}

TEST(CheckpointLedger, KnowsWhatIsStillToCome) {
  CheckpointLedger ledger(2);
  EXPECT_FALSE(ledger.owes(WorkerIndex(0)));
  ledger.begin(10, 1);
  EXPECT_TRUE(ledger.owes(WorkerIndex(0)));
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 1, part(10)));
  EXPECT_FALSE(ledger.owes(WorkerIndex(0)));
  EXPECT_TRUE(ledger.owes(WorkerIndex(1)));
  EXPECT_FALSE(ledger.is_committing());
  EXPECT_TRUE(ledger.add(WorkerIndex(1), 1, part(10)));
  EXPECT_FALSE(ledger.owes(WorkerIndex(1)));
  EXPECT_TRUE(ledger.is_committing());
  EXPECT_FALSE(ledger.add(WorkerIndex(1), 1, part(10))) << "handed out already";
  ledger.committed(10);
  EXPECT_FALSE(ledger.is_committing());
}

TEST(CheckpointLedger, SaysWhatTakesTooLongEachTimeThatItHasTakenTwiceAsLong) {
  using std::chrono::seconds;
  constexpr TimePoint kBegun{seconds(1000)};
  constexpr seconds kPatience{60};
  CheckpointLedger ledger(2);
  ledger.begin(10, 1);
  EXPECT_FALSE(ledger.overdue(kBegun, 9, kPatience)) << "its step is still to be done";
  EXPECT_FALSE(ledger.overdue(kBegun + seconds(500), 10, kPatience))
      << "its step was done just now";
  EXPECT_FALSE(ledger.overdue(kBegun + seconds(559), 11, kPatience));
  EXPECT_FALSE(ledger.add(WorkerIndex(0), 1, part(10)));
  EXPECT_EQ(
      ledger.overdue(kBegun + seconds(560), 11, kPatience),
      "ALARM checkpoint of step 10 has waited 60 s for the file of rank 2: the disk is slow or "
      "hangs; training goes on, the newest on disk is from before this start");
  EXPECT_FALSE(ledger.overdue(kBegun + seconds(619), 11, kPatience));
  EXPECT_TRUE(ledger.add(WorkerIndex(1), 1, part(10)));
  EXPECT_THAT(ledger.overdue(kBegun + seconds(620), 11, kPatience),
              ::testing::Optional(::testing::HasSubstr("has waited 120 s for its manifest")));
  ledger.committed(10);
  EXPECT_FALSE(ledger.overdue(kBegun + seconds(9000), 11, kPatience));
}

TEST(CheckpointLedger, IsLoudFromTheThirdFailureInARowOn) {
  CheckpointLedger ledger(1);
  for (const std::int64_t step : {10, 20}) {
    ledger.begin(step, 1);
    EXPECT_EQ(ledger.failed(step, "disk full"), "warn  checkpoint of step " + std::to_string(step) +
                                                    " failed (" + std::to_string(step / 10) +
                                                    " so far), tried again soon: disk full");
    EXPECT_EQ(ledger.error(), "disk full");
  }
  ledger.begin(30, 1);
  ledger.committed(30);
  EXPECT_EQ(ledger.error(), "");
  EXPECT_EQ(ledger.failures_in_a_row(), 0);
  std::string line;
  for (const std::int64_t step : {40, 50, 60}) {
    ledger.begin(step, 1);
    line = ledger.failed(step, "disk full");
  }
  EXPECT_EQ(line,
            "ALARM 3 checkpoints in a row could not be saved; what was trained since step 30 is "
            "lost if the run dies: disk full");
}

}  // namespace
}  // namespace gangway::coordinator
