// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_memory.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

using gangway::testing::SharedFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

TEST(SnapshotMemory, HoldsWhatWasCopiedAfterItsEnd) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    take_sample(memory, {.step = 7, .epoch = 2});
  }
  const auto entries = find_sample(folder.path());
  ASSERT_THAT(entries, SizeIs(1));
  const SnapshotFile file(entries[0].file);
  EXPECT_EQ(file.entry().id, (SnapshotId{.step = 7, .epoch = 2}));
  EXPECT_EQ(file.pieces(), sample_pieces());
  for (std::size_t piece = 0; piece < file.pieces().size(); ++piece) {
    EXPECT_EQ(as_text(file.bytes(piece)), sample_text(sample_pieces()[piece], 7));
  }
}

TEST(SnapshotMemory, IsForItsUserAlone) {
  const SharedFolder folder;
  const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  for (const std::string& name : folder.names()) {
    struct stat status {};
    ASSERT_EQ(::stat((folder.path() / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(status.st_blocks * 512, status.st_size);  // every page is allocated
  }
  EXPECT_THAT(folder.names(), SizeIs(2));
}

TEST(SnapshotMemory, TakesPiecesInAscendingRangesAndAnyOrderOfPieces) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  ASSERT_TRUE(memory.begin({.step = 3}));
  const auto& pieces = memory.pieces();
  for (std::size_t piece = pieces.size(); piece-- > 0;) {
    const std::string text = sample_text(pieces[piece], 3);
    const auto bytes = std::as_bytes(std::span(text));
    memory.copy(piece, bytes.first(bytes.size() / 3));
    memory.copy(piece, {});
    memory.copy(piece, bytes.subspan(bytes.size() / 3));
  }
  memory.complete();
  const auto pinned = memory.pin(3);
  ASSERT_TRUE(pinned);
  EXPECT_EQ(damage_in(*pinned), std::nullopt);
  EXPECT_EQ(as_text(pinned->bytes(2)), sample_text(pieces[2], 3));
}

TEST(SnapshotMemory, RefusesMoreThanAPieceHas) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  const std::vector<std::byte> bytes(memory.pieces()[0].bytes() + 1);
  EXPECT_THROW(memory.copy(0, bytes), InvariantError);  // no snapshot was begun
  ASSERT_TRUE(memory.begin({.step = 3}));
  EXPECT_THROW(memory.copy(0, bytes), InvariantError);
}

TEST(SnapshotMemory, CompletesNothingThatIsNotWhole) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_THROW(memory.complete(), InvariantError);
  ASSERT_TRUE(memory.begin({.step = 3}));
  const std::vector<std::byte> bytes(memory.pieces()[0].bytes());
  memory.copy(0, bytes);
  try {
    memory.complete();
    FAIL();
  } catch (const InvariantError& error) {
    EXPECT_THAT(error.what(), HasSubstr("generator/0/weight"));
  }
  EXPECT_THAT(ids_in(memory), IsEmpty());
}

TEST(SnapshotMemory, DropsWhatWasAbandoned) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  ASSERT_TRUE(memory.begin({.step = 2}));
  memory.abandon();
  take_sample(memory, {.step = 3});
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 3}, SnapshotId{.step = 1}));
}

TEST(SnapshotMemory, DoesNotOverwriteWhatIsPinned) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  auto pinned = memory.pin(1);
  take_sample(memory, {.step = 2});
  EXPECT_FALSE(memory.begin({.step = 3}));
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 2}, SnapshotId{.step = 1}));
  pinned.reset();
  EXPECT_TRUE(memory.begin({.step = 3}));
}

TEST(SnapshotMemory, HasRoomBesideAPinnedOneWithThreeSlots) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces(), 3);
  take_sample(memory, {.step = 1});
  const auto pinned = memory.pin(1);
  take_sample(memory, {.step = 2});
  take_sample(memory, {.step = 3});
  take_sample(memory, {.step = 4});
  EXPECT_THAT(ids_in(memory),
              ElementsAre(SnapshotId{.step = 4}, SnapshotId{.step = 3}, SnapshotId{.step = 1}));
}

TEST(SnapshotMemory, DoesNotOverwriteTheProtectedStep) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  memory.protect(1);
  take_sample(memory, {.step = 2});
  take_sample(memory, {.step = 3});  // replaces 2, which not every worker has
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 3}, SnapshotId{.step = 1}));
  memory.protect(3);
  take_sample(memory, {.step = 4});
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 4}, SnapshotId{.step = 3}));
}

TEST(SnapshotMemory, TakesOverWhatADeadProcessLeft) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    take_sample(memory, {.step = 4});
    take_sample(memory, {.step = 5});
  }
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 5}, SnapshotId{.step = 4}));
  take_sample(memory, {.step = 6});
  EXPECT_THAT(ids_in(memory), ElementsAre(SnapshotId{.step = 6}, SnapshotId{.step = 5}));
  EXPECT_THAT(folder.names(), SizeIs(2));
}

TEST(SnapshotMemory, ReplacesWhatHasOtherPieces) {
  const SharedFolder folder;
  {
    SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    take_sample(memory, {.step = 4});
  }
  std::vector<TensorStretch> others = sample_pieces();
  others.pop_back();
  SnapshotMemory memory(sample_place(folder.path()), others);
  EXPECT_THAT(ids_in(memory), IsEmpty());
  take_sample(memory, {.step = 6});
  EXPECT_THAT(find_sample(folder.path()), SizeIs(1));
}

TEST(SnapshotMemory, IsRefusedBesideALivingOne) {
  const SharedFolder folder;
  const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  try {
    const SnapshotMemory second(sample_place(folder.path()), sample_pieces());
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("in use by a living process"));
  }
}

TEST(SnapshotMemory, IsTakenFromAStoppedWorkerOfAnEarlierStart) {
  const SharedFolder folder;
  const pid_t zombie = ::fork();
  if (zombie == 0) {
    ::prctl(PR_SET_NAME, "gangway-worker");
    const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(zombie, &status, WUNTRACED), zombie);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_NO_THROW(SnapshotMemory(sample_place(folder.path()), sample_pieces()));
  ASSERT_EQ(::waitpid(zombie, &status, 0), zombie);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(SnapshotMemory, HasNamesThatNobodyForetells) {
  const SharedFolder folder;
  { const SnapshotMemory memory(sample_place(folder.path()), sample_pieces()); }
  const auto before = folder.names();
  for (const std::string& name : before) {
    std::filesystem::remove(folder.path() / name);
  }
  const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_THAT(folder.names(), Not(IsSupersetOf(before)));
  EXPECT_EQ(key_in_slot_name(folder.names().front()), sample_key(folder.path()));
}

TEST(SnapshotMemory, PassesOverWhatOthersHavePutInItsPlace) {
  const SharedFolder folder;
  { const SnapshotMemory memory(sample_place(folder.path()), sample_pieces()); }
  for (const std::string& name : folder.names()) {
    const std::filesystem::path squatted = folder.path() / name;
    std::filesystem::remove(squatted);
    if (::geteuid() == 0) {  // only root can give a file away
      std::ofstream(squatted) << "mine";
      ASSERT_EQ(::chown(squatted.c_str(), 65'534, 65'534), 0);
    } else {
      ASSERT_EQ(::mkfifo(squatted.c_str(), 0600), 0);
    }
  }
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_TRUE(take_sample(memory, {.step = 6}));
  EXPECT_THAT(find_sample(folder.path()), SizeIs(1));
}

TEST(SnapshotMemory, FollowsNoLink) {
  const SharedFolder folder;
  std::string name;
  {
    const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    name = folder.names().at(0);
  }
  std::filesystem::remove(folder.path() / name);
  folder.leave_behind("precious");
  std::filesystem::create_symlink(folder.path() / "precious", folder.path() / name);
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_TRUE(take_sample(memory, {.step = 6}));
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "precious"), 4U);
}

TEST(SnapshotMemory, SaysHowMuchIsMissing) {
  const SharedFolder folder;
  std::vector<TensorStretch> pieces = sample_pieces();
  pieces.erase(pieces.begin() + 1);
  pieces[0].shape = {std::int64_t{1} << 36};
  pieces[0].order = StoredOrder::kRowMajor;
  pieces[0].end = std::uint64_t{1} << 36U;
  try {
    const SnapshotMemory memory(sample_place(folder.path()), pieces);
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("MiB free in"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoint.snapshot_steps=0"));
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SnapshotMemory, RefusesPiecesThatOverlap) {
  const SharedFolder folder;
  std::vector<TensorStretch> pieces = sample_pieces();
  pieces.push_back(pieces[0]);
  EXPECT_THROW(SnapshotMemory(sample_place(folder.path()), pieces), InvariantError);
}

TEST(SnapshotMemory, GoesAwayWhenItIsRemoved) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  memory.remove();
  memory.remove();
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(SnapshotMemory, LaysItsDataOutAsASafetensorsFile) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  const auto pinned = memory.pin(1);
  // Sorted by item size (the I64 first), then name, then begin.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned->bytes(3).data()) % 4096, 0U);
  EXPECT_EQ(pinned->bytes(3).data() + pinned->bytes(3).size(), pinned->bytes(0).data());
  EXPECT_EQ(pinned->bytes(0).data() + pinned->bytes(0).size(), pinned->bytes(1).data());
}

TEST(SnapshotMemory, GivesItsPiecesToTheWriterWithTheirHashes) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  const auto pinned = memory.pin(1);
  const std::vector<PieceRecord> records = pinned->records();
  ASSERT_THAT(records, SizeIs(5));
  EXPECT_EQ(records[1].of.name, "generator/0/weight");
  EXPECT_EQ(records[1].of.order, StoredOrder::kChannelsLast);
  EXPECT_EQ(records[1].of.begin, 320U);
  EXPECT_EQ(as_text(records[1].bytes), sample_text(sample_pieces()[1], 1));
  EXPECT_EQ(records[1].xxh3_128, hash_of(records[1].bytes));
}

TEST(SnapshotMemory, NoticesEachDamagedPiece) {
  const SharedFolder folder;
  SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  take_sample(memory, {.step = 1});
  const auto pinned = memory.pin(1);
  for (std::size_t piece = 0; piece < memory.pieces().size(); ++piece) {
    if (pinned->bytes(piece).empty()) {
      continue;
    }
    auto* const last = const_cast<std::byte*>(&pinned->bytes(piece).back());
    *last ^= std::byte{4};
    EXPECT_THAT(damage_in(*pinned).value_or(""), HasSubstr(memory.pieces()[piece].name));
    *last ^= std::byte{4};
    EXPECT_EQ(damage_in(*pinned), std::nullopt);
  }
}

TEST(SnapshotFolder, IsSharedMemoryWhereThereIsRoom) {
  const SharedFolder folder;
  const SnapshotFolder chosen =
      choose_snapshot_folder(1000, folder.path(), folder.path() / "other");
  EXPECT_EQ(chosen.path, folder.path());
  EXPECT_EQ(chosen.reason, "");
}

TEST(SnapshotFolder, IsTheFallbackWhereSharedMemoryIsTooSmallAndSaysWhy) {
  const SharedFolder folder;
  const SnapshotFolder chosen =
      choose_snapshot_folder(1, folder.path() / "missing", folder.path() / "disk");
  EXPECT_EQ(chosen.path, folder.path() / "disk");
  EXPECT_THAT(chosen.reason, HasSubstr("0.0 MiB are free in"));
}

TEST(SnapshotFolder, CountsTheRoomOfSlotsThatAreTakenOver) {
  const SharedFolder folder;
  const auto place_of = [&](int num_workers) {
    return SnapshotPlace{.folder = folder.path(),
                         .run_directory = folder.path(),
                         .job_fingerprint = "job",
                         .run_id = "run",
                         .num_workers = num_workers};
  };
  const std::string key = snapshot_key(folder.path(), "job", "run");
  EXPECT_EQ(bytes_of_slots(folder.path(), key, 2), 0U);
  for (const int num_workers : {2, 3}) {
    const auto file = folder.path() / slot_name(key, place_of(num_workers), 0);
    std::ofstream(file) << std::string(1000, 'x');
  }
  EXPECT_EQ(bytes_of_slots(folder.path(), key, 2), 1000U) << "others stay until a state is whole";
  const auto free = std::filesystem::space(folder.path()).available;
  const auto disk = folder.path() / "disk";
  EXPECT_EQ(choose_snapshot_folder(free / 16 * 15, folder.path(), disk).path, disk);
  EXPECT_EQ(choose_snapshot_folder(free / 16 * 15, folder.path(), disk, free / 4).path,
            folder.path());
}

TEST(SnapshotFolder, IsNowhereWhereNeitherHasRoomAndSaysHowMuchThereIs) {
  const SharedFolder folder;
  try {
    (void)choose_snapshot_folder(std::size_t{1} << 60U, folder.path(), folder.path());
    FAIL() << "more than any disk has";
  } catch (const EnvironmentError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, HasSubstr("snapshots need 1099511627776.0 MiB"));
    const double free =
        static_cast<double>(std::filesystem::space(folder.path()).available) / kMebibyte;
    const std::size_t said = message.find(" and ") + 5;
    EXPECT_NEAR(std::stod(message.substr(said)), free, 0.1 * free + 1.0);
  }
}

}  // namespace
}  // namespace gangway::checkpoint
