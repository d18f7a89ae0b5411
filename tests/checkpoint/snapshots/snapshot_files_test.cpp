// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_files.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "run/run_start.hpp"
#include "tests/checkpoint/snapshots/newest_complete.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
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
  EXPECT_EQ(entries[0].id.step, 5);
  EXPECT_EQ(entries[0].worker, 0);
  EXPECT_EQ(entries[1].worker, 1);
  EXPECT_EQ(entries[3].id.step, 3);
  EXPECT_EQ(entries[0].id.num_workers, 2);
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
  EXPECT_EQ(found.snapshot->id.step, 3);
  EXPECT_THAT(found.snapshot->parts, SizeIs(2));
  EXPECT_EQ(found.snapshot->parts[1].entry().worker, 1);
  EXPECT_THAT(found.warnings, ElementsAre(AllOf(HasSubstr("step 5"), HasSubstr("worker 1 of 2"),
                                                HasSubstr("an older state is used"))));
}

TEST(NewestComplete, MixesNoEpochsAndNoLayouts) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path(), 0, 2), sample_pieces());
    ASSERT_TRUE(take_sample(memory, {.step = 3, .epoch = 1, .num_workers = 2}));
    SnapshotMemory other(sample_place(folder.path(), 1, 2), sample_pieces());
    ASSERT_TRUE(take_sample(other, {.step = 3, .epoch = 2, .num_workers = 2}));
    SnapshotMemory third(sample_place(folder.path(), 1, 3), sample_pieces());
    ASSERT_TRUE(take_sample(third, {.step = 3, .epoch = 1, .num_workers = 3}));
  }
  EXPECT_FALSE(newest(folder.path()).snapshot);
}

TEST(NewestComplete, MixesNoStartsOfARun) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path(), 0, 2), sample_pieces());
    ASSERT_TRUE(take_sample(memory, {.step = 3, .incarnation = 1, .epoch = 1, .num_workers = 2}));
    SnapshotMemory other(sample_place(folder.path(), 1, 2), sample_pieces());
    ASSERT_TRUE(take_sample(other, {.step = 3, .incarnation = 2, .epoch = 1, .num_workers = 2}));
  }
  EXPECT_FALSE(newest(folder.path()).snapshot) << "the step and the epoch are the same";
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
  EXPECT_EQ(found.snapshot->id.step, 3);
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
  EXPECT_EQ(found.snapshot->id.step, 5);
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

/// Flips every byte of a slot except its padding: the slot must be refused, or read the same.
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
    const std::size_t bit = i < 1024 ? static_cast<std::size_t>(i)  // the whole header
                                     : random() % (sound.size() * 8);
    std::string bytes = sound;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(copy, bytes);
    try {
      const SnapshotFile read(copy);
      EXPECT_EQ(read.entry().id.step, 5);
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

/// A table with a right hash and wrong content, as an attacker would write it.
TEST(SnapshotFile, IsNotTakenInByASealedLie) {
  const SharedFolder folder;
  for (const std::string lie : {"end", "bytes", "shape", "name", "pieces"}) {
    std::vector<TensorStretch> pieces = sample_pieces();
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

}  // namespace
}  // namespace gangway::checkpoint
