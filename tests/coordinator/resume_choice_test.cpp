// SPDX-License-Identifier: MIT
// Which state a start begins with, where scores or branches forbid the newest.
#include "coordinator/resume/resume_choice.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

class ResumeChoiceTest : public ::testing::Test {
 protected:
  ResumeChoiceTest() { run_.num_workers = 1; }

  /// The newest state is a snapshot of `step`, whole.
  [[nodiscard]] static SnapshotInventory snapshot_of(std::int64_t step) {
    SnapshotInventory inventory;
    inventory.add(WorkerIndex(0), {.step = step, .incarnation = 1, .num_workers = 1}, 0);
    return inventory;
  }
  [[nodiscard]] ResumePoint choose(std::int64_t snapshot, std::vector<std::int64_t> unscored = {}) {
    ResumeChoice choice(
        run_, options_, [](const std::string&) {},
        [unscored](std::int64_t /*step*/) { return unscored; });
    return choice.choose(snapshot_of(snapshot));
  }

  gangway::testing::ScratchFolder folder_;
  StartOptions options_;
  StartedRun run_{
      .spec = {}, .job_yaml = {}, .directory = folder_.path(), .lock = RunLock(folder_.path())};
};

TEST_F(ResumeChoiceTest, TakesTheNewestSnapshot) {
  EXPECT_TRUE(choose(25).snapshot);
  EXPECT_EQ(choose(25).step, 25);
}

TEST_F(ResumeChoiceTest, KeepsPartsOfANewerOneWhereHostsMayComeBackWithTheOthers) {
  SnapshotInventory inventory = snapshot_of(25);
  inventory.add(WorkerIndex(0), {.step = 30, .incarnation = 1, .num_workers = 2}, 0);
  const auto keeps = [&] {
    const ResumePoint point =
        ResumeChoice(run_, options_, [](const std::string&) {}, {}).choose(inventory);
    EXPECT_EQ(point.step, 25);
    return point.keeps_newer;
  };
  options_.is_again = true;
  EXPECT_FALSE(keeps()) << "a worker had not finished it";
  run_.restarts = {{.left_out = {"node-b"}}};
  EXPECT_TRUE(keeps());
  options_.is_again = false;
  EXPECT_FALSE(keeps()) << "typed again, it begins with what is there";
}

TEST_F(ResumeChoiceTest, TakesNoneBehindACheckpointThatIsToBeScoredAndWasNeverCommitted) {
  const ResumePoint point = choose(25, {20});
  EXPECT_FALSE(point.snapshot) << "it would never have a score";
  EXPECT_EQ(point.step, 0);
}

TEST_F(ResumeChoiceTest, TakesNoneThatTheRunTookBeforeItBranchedOff) {
  run_.decisions = {
      {.kind = DecisionKind::kBranch, .change = {.step = 10}, .seen = 10, .start = 2}};
  run_.begun_with = "begun with checkpoint aa, /runs/a";
  try {
    (void)choose(25);
    FAIL() << "it is of another training";
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("begun with checkpoint aa, /runs/a, and has no "
                                                   "valid checkpoint since"));
  }
  run_.decisions.front().start = 1;  // that of the snapshot
  EXPECT_TRUE(choose(25).snapshot);
}

}  // namespace
}  // namespace gangway::coordinator
