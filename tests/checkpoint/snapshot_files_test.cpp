// SPDX-License-Identifier: MIT
#include "checkpoint/snapshot_files.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/snapshot_slot.hpp"
#include "job/errors.hpp"
#include "job/run_directory.hpp"
#include "tests/checkpoint/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

using gangway::testing::SharedFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void leave(const fs::path& folder, std::vector<std::int64_t> steps, int worker = 0,
           int num_workers = 1, int replica = 0) {
  SnapshotMemory memory(sample_place(folder, worker, num_workers, replica), sample_pieces());
  for (const std::int64_t step : steps) {
    ASSERT_TRUE(take_sample(memory, {.step = step}));
  }
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

fs::path file_of(const fs::path& folder, std::int64_t step, int worker = 0, int replica = 0) {
  for (const SnapshotEntry& entry : find_sample(folder)) {
    if (entry.moment.step == step && entry.worker == worker && entry.replica == replica) {
      return entry.file;
    }
  }
  return {};
}

/// Changes a byte of the piece's data.
void damage(const fs::path& file, std::size_t piece) {
  std::size_t at = 0;
  {
    const SnapshotFile snapshot(file);
    const std::string text = as_text(snapshot.bytes(piece));
    at = bytes_of(file).find(text);
  }
  std::string bytes = bytes_of(file);
  bytes.at(at + 3) ^= 1;
  write_bytes(file, bytes);
}

struct Newest {
  std::optional<CompleteSnapshot> snapshot;
  std::vector<std::string> warnings;
};

Newest newest(const fs::path& folder, std::int64_t newer_than = -1) {
  Newest result;
  result.snapshot = newest_complete(
      std::span(&folder, 1), sample_key(folder),
      [&](std::string line) { result.warnings.push_back(std::move(line)); }, newer_than);
  return result;
}

TEST(SnapshotFiles, AreListedNewestFirst) {
  const SharedFolder folder;
  leave(folder.path(), {3, 5}, 0, 2);
  leave(folder.path(), {5, 3}, 1, 2);
  const auto entries = find_sample(folder.path());
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_EQ(entries[0].moment.step, 5);
  EXPECT_EQ(entries[0].worker, 0);
  EXPECT_EQ(entries[1].worker, 1);
  EXPECT_EQ(entries[3].moment.step, 3);
  EXPECT_EQ(entries[0].num_workers, 2);
  EXPECT_FALSE(entries[0].is_in_use);
}

TEST(SnapshotFiles, OfOtherRunsAndJobsAreNotListed) {
  const SharedFolder folder;
  SnapshotPlace other = sample_place(folder.path());
  other.job_fingerprint = "another";
  SnapshotMemory memory(other, sample_pieces());
  ASSERT_TRUE(take_sample(memory, {.step = 1}));
  EXPECT_THAT(find_sample(folder.path()), IsEmpty());
}

TEST(SnapshotFiles, TellTheLivingFromTheDead) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  ASSERT_TRUE(take_sample(memory, {.step = 1}));
  EXPECT_TRUE(find_sample(folder.path()).at(0).is_in_use);
}

TEST(NewestComplete, TakesTheNewestThatAllHave) {
  const SharedFolder folder;
  leave(folder.path(), {3, 5}, 0, 2);
  leave(folder.path(), {3}, 1, 2);
  const Newest found = newest(folder.path());
  ASSERT_TRUE(found.snapshot);
  EXPECT_EQ(found.snapshot->moment.step, 3);
  EXPECT_THAT(found.snapshot->parts, SizeIs(2));
  EXPECT_EQ(found.snapshot->parts[1].entry().worker, 1);
  EXPECT_THAT(found.warnings, ElementsAre(AllOf(HasSubstr("step 5"), HasSubstr("worker 1 of 2"),
                                                HasSubstr("an older state is used"))));
}

TEST(NewestComplete, MixesNoEpochsAndNoLayouts) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path(), 0, 2), sample_pieces());
    ASSERT_TRUE(take_sample(memory, {.step = 3, .epoch = 1}));
    SnapshotMemory other(sample_place(folder.path(), 1, 2), sample_pieces());
    ASSERT_TRUE(take_sample(other, {.step = 3, .epoch = 2}));
    SnapshotMemory third(sample_place(folder.path(), 1, 3), sample_pieces());
    ASSERT_TRUE(take_sample(third, {.step = 3, .epoch = 1}));
  }
  EXPECT_FALSE(newest(folder.path()).snapshot);
}

TEST(NewestComplete, LooksAtNothingThatACheckpointHas) {
  const SharedFolder folder;
  leave(folder.path(), {3, 5});
  EXPECT_TRUE(newest(folder.path(), 4).snapshot);
  EXPECT_FALSE(newest(folder.path(), 5).snapshot);
}

TEST(NewestComplete, NamesDamageAndUsesTheOneBefore) {
  const SharedFolder folder;
  leave(folder.path(), {3, 5});
  damage(file_of(folder.path(), 5), 2);
  const Newest found = newest(folder.path());
  ASSERT_TRUE(found.snapshot);
  EXPECT_EQ(found.snapshot->moment.step, 3);
  EXPECT_THAT(found.warnings,
              ElementsAre(AllOf(HasSubstr("gangway.snap-"), HasSubstr("'generator/1/bias'"),
                                HasSubstr("an older state is used"))));
}

TEST(NewestComplete, PutsAReplicaInTheDamagedPartsPlace) {
  const SharedFolder folder;
  leave(folder.path(), {5}, 0, 2);
  leave(folder.path(), {5}, 1, 2);
  leave(folder.path(), {5}, 1, 2, 1);
  damage(file_of(folder.path(), 5, 1), 0);
  const Newest found = newest(folder.path());
  ASSERT_TRUE(found.snapshot);
  EXPECT_EQ(found.snapshot->moment.step, 5);
  EXPECT_EQ(found.snapshot->parts[1].entry().replica, 1);
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("its replica")));
}

TEST(NewestComplete, IsNothingWhereTheNewestWasHalfWrittenAndThereIsNoOther) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    ASSERT_TRUE(memory.begin({.step = 5}));
  }
  EXPECT_FALSE(newest(folder.path()).snapshot);
  EXPECT_THAT(newest(folder.path()).warnings, IsEmpty());
}

/// Every byte of a slot but its padding counts: flipped anywhere, the slot is refused or reads the
/// same.
TEST(SnapshotFile, NoticesEveryFlippedBit) {
  const SharedFolder folder;
  leave(folder.path(), {5});
  const fs::path file = file_of(folder.path(), 5);
  const std::string sound = bytes_of(file);
  const fs::path copy = folder.path() / "copy";
  std::vector<std::string> before;
  {
    const SnapshotFile read(file);
    for (std::size_t piece = 0; piece < read.pieces().size(); ++piece) {
      before.push_back(as_text(read.bytes(piece)));
    }
  }
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::size_t bit = i < 1024 ? static_cast<std::size_t>(i)  // all of the header
                                     : random() % (sound.size() * 8);
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(copy, bytes);
    try {
      const SnapshotFile read(copy);
      EXPECT_EQ(read.entry().moment.step, 5);
      for (std::size_t piece = 0; piece < read.pieces().size(); ++piece) {
        ASSERT_EQ(as_text(read.bytes(piece)), before[piece]) << "bit " << bit;
      }
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(), HasSubstr("copy"));
      ++refused;
    }
  }
  EXPECT_GE(refused, 1024);
}

TEST(SnapshotFile, NoticesEveryTruncation) {
  const SharedFolder folder;
  leave(folder.path(), {5});
  const std::string sound = bytes_of(file_of(folder.path(), 5));
  const fs::path copy = folder.path() / "copy";
  for (std::size_t bytes = 0; bytes < sound.size(); bytes += bytes < 5000 ? 7 : 509) {
    write_bytes(copy, sound.substr(0, bytes));
    EXPECT_THROW(SnapshotFile{copy}, CheckpointError) << bytes;
  }
  write_bytes(copy, sound + "x");
  EXPECT_THROW(SnapshotFile{copy}, CheckpointError);
}

/// A table with a right hash and wrong content: what an attacker would write.
TEST(SnapshotFile, IsNotTakenInByASealedLie) {
  const SharedFolder folder;
  for (const std::string lie : {"end", "bytes", "shape", "name", "pieces"}) {
    std::vector<SnapshotPiece> pieces = sample_pieces();
    SnapshotPlace place = sample_place(folder.path());
    const SlotLayout layout = lay_out_slot(pieces, write_slot_table(place, pieces).size());
    pieces[0].end += lie == "end" ? 1000 : 0;
    pieces[0].shape[1] += lie == "bytes" ? 1 : 0;
    pieces[0].shape[0] = lie == "shape" ? std::int64_t{1} << 62 : 16;
    pieces[0].name[0] = lie == "name" ? '\n' : 'g';
    const auto table = write_slot_table(place, pieces);
    SlotHeader header =
        make_slot_header(place, 0, table, layout, pieces.size() + (lie == "pieces" ? 1 : 0));
    header.seal = seal_of(header, {});
    header.state = kSlotWhole;
    std::string bytes(layout.file_bytes, '\0');
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + kSlotPage, table.data(), table.size());
    write_bytes(folder.path() / "lie", bytes);
    EXPECT_THROW(SnapshotFile{folder.path() / "lie"}, CheckpointError) << lie;
  }
}

TEST(SnapshotFile, IsNoLinkAndNoDevice) {
  const SharedFolder folder;
  leave(folder.path(), {5});
  const fs::path file = file_of(folder.path(), 5);
  fs::create_symlink(file, folder.path() / "link");
  EXPECT_THROW(SnapshotFile{folder.path() / "link"}, CheckpointError);
  EXPECT_THROW(SnapshotFile{"/dev/zero"}, CheckpointError);
  EXPECT_THROW(SnapshotFile{folder.path() / "none"}, CheckpointError);
}

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

TEST(RemoveSnapshots, RemovesNoneOfARunThatMayStillNeedThem) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3, 5});
  const std::vector folders{folder.path()};
  const fs::path run = folder.path() / "run";
  for (const int code : {3, 6}) {
    write_status(run, {.exit_code = code, .reason = "failed"});
    remove_saved_snapshots(folders, sample_key(folder.path()), run);
    EXPECT_THAT(folder.names(), SizeIs(3)) << code;
  }
  write_status(run, {.exit_code = 75, .reason = "saved on request"});
  remove_saved_snapshots(folders, sample_key(folder.path()), run);
  EXPECT_THAT(folder.names(), ElementsAre("run"));
}

TEST(CopySnapshots, TakesThoseOfOneStepToAnotherFolderWhereTheyAreFound) {
  const SharedFolder folder;
  const fs::path disk = folder.path() / "run" / "snapshots";
  leave(folder.path(), {3, 5}, 0, 2);
  leave(folder.path(), {3, 5}, 1, 2);
  const std::string key = sample_key(folder.path());
  EXPECT_EQ(copy_snapshots(folder.path(), key, 5, disk), 2U);
  EXPECT_EQ(copy_snapshots(folder.path(), key, 5, disk, 1), 0U) << "both are there already";
  EXPECT_EQ(remove_snapshots(std::vector{folder.path()}, key), 4U);
  const auto found = newest_complete(std::vector{disk}, key,
                                     [](const std::string& line) { ADD_FAILURE() << line; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->moment.step, 5);
  EXPECT_EQ(fs::status(found->parts[0].entry().file).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(CopySnapshots, NamesTheFolderThatCannotBeMade) {
  const SharedFolder folder;
  leave(folder.path(), {5});
  try {
    (void)copy_snapshots(folder.path(), sample_key(folder.path()), 5, "/proc/none/snapshots");
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

}  // namespace
}  // namespace gangway::checkpoint
