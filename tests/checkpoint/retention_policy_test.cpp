// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Complete checkpoints of these steps, newest first.
std::vector<CheckpointEntry> entries_of(std::initializer_list<std::int64_t> steps) {
  std::vector<CheckpointEntry> entries;
  for (const std::int64_t step : steps) {
    entries.push_back({.path = {}, .step = step, .status = CheckpointStatus::kComplete});
  }
  return entries;
}

std::vector<std::int64_t> surplus(const std::vector<CheckpointEntry>& entries,
                                  const std::set<std::int64_t>& pinned,
                                  const RetentionPolicy& policy) {
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry* entry : surplus_of(entries, pinned, policy)) {
    steps.push_back(entry->step);
  }
  return steps;
}

TEST(RetentionPolicy, LetsTheOldestGoFirst) {
  EXPECT_THAT(surplus(entries_of({50, 40, 30, 20, 10}), {}, {.keep = 2}), ElementsAre(10, 20, 30));
}

TEST(RetentionPolicy, KeepsWhatIsPinnedBesideTheNewest) {
  EXPECT_THAT(surplus(entries_of({50, 40, 30, 20, 10}), {10, 30, 50}, {.keep = 2}),
              ElementsAre(20));
}

TEST(RetentionPolicy, KeepsTheFirstOfEachStretchForGood) {
  EXPECT_THAT(surplus(entries_of({90, 80, 70, 60, 50, 40, 30, 20, 10}), {},
                      {.keep = 1, .keep_every_steps = 25}),
              ElementsAre(10, 20, 40, 60, 70));  // 30, 50 and 80 stay
}

TEST(RetentionPolicy, CountsNoDamagedOneForAStretch) {
  auto entries = entries_of({50, 30, 25, 20});
  entries[2].status = CheckpointStatus::kDamaged;
  EXPECT_THAT(surplus(entries, {}, {.keep = 1, .keep_every_steps = 25}), ElementsAre(20, 25));
}

TEST(RetentionPolicy, RefusesToKeepNothing) {
  EXPECT_THROW((void)surplus_of({}, {}, {.keep = 0}), InvariantError);
}

class Pins : public ::testing::Test {
 protected:
  Pins() {
    for (const std::int64_t step : {1, 2, 3}) {
      (void)commit_sample(folder.path(), step);
    }
  }
  [[nodiscard]] CheckpointEntry entry_of(std::int64_t step) const {
    for (const CheckpointEntry& entry : list_checkpoints(folder.path())) {
      if (entry.step == step) {
        return entry;
      }
    }
    return {};
  }
  const gangway::testing::ScratchFolder folder;
};

TEST_F(Pins, KeepACheckpointUntilTheyAreTakenAway) {
  pin_checkpoint(folder.path(), 1);
  pin_checkpoint(folder.path(), 1);
  EXPECT_THAT(pinned_steps(folder.path()), ElementsAre(1));
  EXPECT_THAT(remove_old(folder.path(), {.keep = 1}),
              ElementsAre(folder.path() / "step-000000002"));
  EXPECT_TRUE(unpin_checkpoint(folder.path(), 1));
  EXPECT_FALSE(unpin_checkpoint(folder.path(), 1));
  EXPECT_THAT(remove_old(folder.path(), {.keep = 1}),
              ElementsAre(folder.path() / "step-000000001"));
}

TEST_F(Pins, ChangeNothingInTheCheckpoint) {
  pin_checkpoint(folder.path(), 2);
  EXPECT_EQ(verify_checkpoint(folder.path() / "step-000000002").step, 2);
}

TEST_F(Pins, AreNotMadeThroughALink) {
  fs::create_symlink(folder.path() / "elsewhere", folder.path() / "step-000000002.pin");
  EXPECT_THROW(pin_checkpoint(folder.path(), 2), EnvironmentError);
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere"));
}

TEST_F(Pins, GoWithTheirCheckpoint) {
  pin_checkpoint(folder.path(), 2);
  remove_checkpoint(entry_of(2));
  EXPECT_THAT(pinned_steps(folder.path()), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.path() / "step-000000002"));
}

TEST_F(Pins, RemovalIsRefusedWhereNothingProvesItOurs) {
  fs::remove(folder.path() / "step-000000002" / kManifestName);
  folder.write("step-000000003/notes.txt", "");
  for (const std::int64_t step : {2, 3}) {
    EXPECT_THROW(remove_checkpoint(entry_of(step)), CheckpointError);
    EXPECT_TRUE(fs::exists(entry_of(step).path / worker_file_name(0, 2)));
  }
}

}  // namespace
}  // namespace gangway::checkpoint
