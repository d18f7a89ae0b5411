// SPDX-License-Identifier: MIT
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using checkpoint::SnapshotEntry;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

SnapshotEntry part(std::int64_t step, int worker, int replica = 0) {
  return {.file = "/dev/shm/slot",
          .id = {.step = step, .incarnation = 2, .epoch = 1, .num_workers = 2},
          .worker = worker,
          .replica = replica,
          .bytes = std::size_t{1} << 20U};
}

TEST(SnapshotList, TellsWholeSnapshotsFromThoseOfWhichPartsAreElsewhere) {
  std::vector<SnapshotEntry> entries{part(480, 1), part(460, 0), part(460, 1), part(460, 1, 1)};
  entries[0].is_in_use = true;
  const std::string table = snapshot_table(entries, 64);
  EXPECT_THAT(table,
              ContainsRegex("480 +30.7 +2 +1 +2 of 2 +1.0 +/dev/shm +not whole here, in use"));
  EXPECT_THAT(table, ContainsRegex("460 +29.4 +2 +1 +1,2 of 2 +3.0 +/dev/shm +whole"));
  EXPECT_LT(table.find("480"), table.find("460"));
}

TEST(SnapshotList, LeavesKimgOutWhereTheJobDoesNotTellThem) {
  EXPECT_THAT(snapshot_table(std::vector{part(480, 1)}, 0), ContainsRegex("480 +- +2"));
}

TEST(SnapshotList, SaysInALineThatThereAreNoneOrThatItCannotTell) {
  const testing::ScratchFolder folder;
  EXPECT_THAT(snapshot_list(folder.path(), folder.path()),
              HasSubstr(": no snapshots: no job has begun to train there\n"));
  (void)folder.write("job.yaml", "training: {batch: 8}\n");
  EXPECT_THAT(snapshot_list(folder.path(), folder.path()), HasSubstr(": no snapshots on "));
  (void)folder.write("job.yaml", "training: {of_tomorrow: 8}\n");
  try {
    (void)snapshot_list(folder.path(), folder.path());
    FAIL() << "whose snapshots are these?";
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("job.yaml: this version cannot read this job"));
  }
}

}  // namespace
}  // namespace gangway::launch
