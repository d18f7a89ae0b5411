// SPDX-License-Identifier: MIT
// Removal and copies of snapshots after a run's end, failure or deletion
// (checkpoint/snapshots/snapshot_files.hpp).
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"
#include "tests/checkpoint/snapshots/newest_complete.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

using gangway::testing::SharedFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(RemoveSnapshots, RemovesThoseOfTheRunAlone) {
  const SharedFolder folder;
  leave(folder.path(), {3, 5}, 0, 2);
  leave(folder.path(), {3, 5}, 1, 2);
  folder.leave_behind("gangway.snap-note");
  SnapshotPlace other = sample_place(folder.path());
  other.job_fingerprint = "another";
  const SnapshotMemory memory(other, sample_pieces());
  EXPECT_EQ(remove_snapshots(std::vector{folder.path()}, sample_key(folder.path())), 4U);
  EXPECT_THAT(folder.names(), SizeIs(3));
}

TEST(SetNewerAside, KeepsPartsForHostsThatComeBackOutOfTheWayOfANewStart) {
  const SharedFolder folder;
  const std::vector folders{folder.path()};
  const std::string key = sample_key(folder.path());
  leave(folder.path(), {3, 5}, 0, 2);
  EXPECT_EQ(set_newer_aside(folders, key, 3), 5);
  EXPECT_EQ(set_newer_aside(folders, key, 3), 5) << "by another worker of this host";
  EXPECT_EQ(remove_snapshots(folders, key, 3), 1U);
  leave(folder.path(), {2, 4}, 0, 2);  // by the new start
  leave(folder.path(), {5}, 1, 2);     // from a host that returns
  const auto found = newest_complete(folders, key, [](const std::string&) {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id.step, 5);
  EXPECT_EQ(set_newer_aside(folders, key, 9), 9);
  EXPECT_GT(remove_snapshots(folders, key), 2U);
  EXPECT_THAT(find_snapshots(folders, key), IsEmpty());
}

TEST(RemoveSnapshots, RemovesNoneOfARunThatMayStillNeedThem) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3, 5});
  const std::vector folders{folder.path()};
  const fs::path run = folder.path() / "run";
  for (const int code : {3, 6, 75}) {
    write_status(run, {.exit_code = code, .reason = "not saved"});
    remove_saved_snapshots(folders, sample_key(folder.path()), run);
    EXPECT_THAT(folder.names(), SizeIs(3)) << code;
  }
  fs::remove(run / kStatusFile);
  fs::create_directory(run / kStatusFile);
  remove_saved_snapshots(folders, sample_key(folder.path()), run);
  EXPECT_THAT(folder.names(), SizeIs(3)) << "what cannot be read tells nothing";
  fs::remove(run / kStatusFile);
  write_status(run, {.exit_code = 75, .reason = "saved on request", .saved = true});
  remove_saved_snapshots(folders, sample_key(folder.path()), run);
  EXPECT_THAT(folder.names(), ElementsAre("run"));
}

class CopySnapshots : public ::testing::Test {
 protected:
  std::size_t copy(std::int64_t from_step, int begin_with = 0) {
    return copy_snapshots({.shared_memory = folder_.path(),
                           .folder = disk_,
                           .key = key_,
                           .from_step = from_step,
                           .begin_with = begin_with,
                           .progress = [this] { ++progress_; }});
  }
  std::optional<CompleteSnapshot> newest_on_disk() {
    return newest_complete(std::vector{disk_}, key_, [](const std::string&) {});
  }

  SharedFolder folder_;
  fs::path disk_ = folder_.path() / "run" / "snapshots";
  std::string key_ = sample_key(folder_.path());
  int progress_ = 0;
};

TEST_F(CopySnapshots, TakesAllFromAStepOnToWhereTheyAreFound) {
  leave(folder_.path(), {3, 5}, 0, 2);
  leave(folder_.path(), {3, 5}, 1, 2);
  EXPECT_EQ(copy(5), 2U);
  EXPECT_GE(progress_, 2);
  EXPECT_EQ(copy(5, 1), 0U) << "both are there already";
  EXPECT_EQ(remove_snapshots(std::vector{folder_.path()}, key_), 4U);
  const auto found = newest_on_disk();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id.step, 5);
  EXPECT_EQ(fs::status(found->parts[0].entry().file).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(CopySnapshots, TogetherLeaveAWholeOneWhereTheHostsKnowDifferentSteps) {
  leave(folder_.path(), {3, 5}, 0, 2);  // this worker knows that all workers have 5
  EXPECT_EQ(copy(5), 1U);
  EXPECT_EQ(remove_snapshots(std::vector{folder_.path()}, key_), 2U);
  leave(folder_.path(), {3, 5}, 1, 2);  // this worker knows it only of 3
  EXPECT_EQ(copy(3, 1), 2U);
  const auto found = newest_on_disk();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id.step, 5);
}

TEST_F(CopySnapshots, OfAnotherMomentDoNotTakeTheSlotForOneThatIsThere) {
  leave(folder_.path(), {3, 5});
  EXPECT_EQ(copy(3), 2U);
  leave(folder_.path(), {7, 9});  // into the same slots
  EXPECT_EQ(copy(7), 2U);
  EXPECT_EQ(newest_on_disk()->id.step, 9);
}

TEST_F(CopySnapshots, LeaveOutWhatIsDamagedOrWasOverwrittenMeanwhile) {
  leave(folder_.path(), {5});
  damage(file_of(folder_.path(), 5), 0);
  EXPECT_EQ(copy(5), 0U);
  EXPECT_TRUE(fs::is_empty(disk_)) << "nor is half of it left";
}

TEST_F(CopySnapshots, LeaveNothingOfACopyThatWasKilled) {
  leave(folder_.path(), {5});
  fs::create_directories(disk_);
  const std::string half = kept_name(file_of(folder_.path(), 5).filename(), {.step = 5});
  std::ofstream(disk_ / (half + ".4711.copy")) << "half";
  EXPECT_EQ(copy(5), 1U);
  (void)remove_snapshots(std::vector{folder_.path(), disk_}, key_);
  EXPECT_TRUE(fs::is_empty(disk_));
}

TEST_F(CopySnapshots, NameTheFolderThatCannotBeMade) {
  leave(folder_.path(), {5});
  disk_ = "/proc/none/snapshots";
  try {
    (void)copy(5);
    FAIL() << "nothing can be made there";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/proc/none/snapshots"));
  }
}

TEST(ReapSnapshots, KeepsTheLivingAndWhatCanGoOn) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3, 5});
  write_status(folder.path() / "run", {.exit_code = 3, .reason = "a worker was lost"});
  EXPECT_EQ(reap_snapshots(folder.path()).kept, 2U);
  fs::remove(folder.path() / "run" / kStatusFile);
  EXPECT_EQ(reap_snapshots(folder.path()).kept, 2U);
  fs::remove_all(folder.path() / "run");
  const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 0U);
}

TEST(ReapSnapshots, RemovesWhatHoldsNoSnapshotAndKeepsADamagedOne) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3});  // into one of two slots
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 1U);
  const auto whole = find_sample(folder.path());
  ASSERT_EQ(whole.size(), 1U);
  std::fstream file(whole[0].file, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offsetof(SlotHeader, step)).put('\x7f');
  file.close();
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 0U);
}

TEST(ReapSnapshots, RemovesThoseOfARunThatEndedWell) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3, 5});
  write_status(folder.path() / "run", {.exit_code = 0, .reason = "done"});
  const ReapedSnapshots reaped = reap_snapshots(folder.path());
  EXPECT_EQ(reaped.removed, 2U);
  EXPECT_GT(reaped.removed_bytes, 8192U);
  EXPECT_THAT(folder.names(), ElementsAre("run"));
}

TEST(ReapSnapshots, RemovesThoseWhoseRunIsGoneAndThoseThatGotNoHeader) {
  const SharedFolder folder;
  leave(folder.path(), {3});
  folder.leave_behind("gangway.snap-0123456789abcdef-w0000-of-0001-r0-s0");
  folder.leave_behind("gangway.snap-mine");
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 3U);
  EXPECT_THAT(folder.names(), ElementsAre("gangway.snap-mine"));
}

TEST(ReapSnapshots, KeepsThoseWhoseFolderIsNotMounted) {
  const SharedFolder folder;
  const fs::path mount = folder.path() / "mount";
  {
    SnapshotPlace place = sample_place(folder.path());
    place.run_directory = mount / "runs" / "00000-a";
    fs::create_directories(place.run_directory);
    SnapshotMemory memory(place, sample_pieces());
    ASSERT_TRUE(take_sample(memory, {.step = 3}));
    ASSERT_TRUE(take_sample(memory, {.step = 5}));
  }
  fs::rename(mount, folder.path() / "unmounted");
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 0U);
  fs::rename(folder.path() / "unmounted", mount);
  fs::remove_all(mount / "runs" / "00000-a");
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 2U) << "its parent is there without it";
}

/// Begins a run at the path of another run, with `id` in its start.json.
void begin_run(const fs::path& run, const std::string& id) {
  fs::create_directories(run);
  std::ofstream(run / kRunStartFile) << R"({"run_id": ")" << id << R"(", "incarnation": 1})";
}

TEST(ReapSnapshots, TellARunFromAnotherThatHasTakenItsPlace) {
  const SharedFolder folder;
  const std::string first(32, 'a');
  const std::string second(32, 'b');
  SnapshotPlace place = sample_place(folder.path());
  place.run_id = first;
  begin_run(place.run_directory, first);
  {
    SnapshotMemory memory(place, sample_pieces());
    ASSERT_TRUE(take_sample(memory, {.step = 3}));
    ASSERT_TRUE(take_sample(memory, {.step = 5}));
  }
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 0U);
  fs::remove_all(place.run_directory);
  begin_run(place.run_directory, second);
  EXPECT_THAT(
      find_snapshots(std::vector{folder.path()}, snapshot_key(place.run_directory, "job", second)),
      IsEmpty());
  EXPECT_EQ(reap_snapshots(folder.path()).removed, 2U);
}

TEST(ReapSnapshots, DoNotTakeAnotherContainersPathForTheirOwn) {
  const SharedFolder folder;
  const Viewpoint here = viewpoint_on(folder.path() / "run");
  Viewpoint there = here;
  there.mounts += 1;
  EXPECT_TRUE(is_same_place(here, there)) << "another namespace that sees the same folder";
  there.parent_inode += 1;
  EXPECT_FALSE(is_same_place(here, there));
  there.mounts = here.mounts;
  EXPECT_TRUE(is_same_place(here, there)) << "the folder of runs was made again";
  EXPECT_FALSE(is_same_place(viewpoint_on(folder.path() / "none" / "run"), here));
}

}  // namespace
}  // namespace gangway::checkpoint
