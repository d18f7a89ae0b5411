// SPDX-License-Identifier: MIT
// Lets a process die between any two stores into a slot. The slot is mapped memory, so no call can
// fail. The test copies the file's bytes between the protocol's steps, and writes each possible
// remaining state back into the file.
#include <map>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "tests/checkpoint/snapshots/newest_complete.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using gangway::testing::SharedFolder;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t kWord = sizeof(std::uint64_t);  // size of one store

/// Returns the step of the newest complete snapshot, 0 for none; fails the test at damage.
std::int64_t newest_step(const fs::path& folder) {
  const auto newest = newest_complete(
      std::span(&folder, 1), sample_key(folder),
      [](const std::string& line) { EXPECT_THAT(line, Not(HasSubstr("damaged"))); }, -1);
  if (!newest) {
    return 0;
  }
  for (const SnapshotFile& part : newest->parts) {
    for (std::size_t piece = 0; piece < part.pieces().size(); ++piece) {
      EXPECT_EQ(as_text(part.bytes(piece)), sample_text(part.pieces()[piece], newest->id.step));
    }
  }
  return newest->id.step;
}

/// Returns the places of the words in which two states of a file differ.
std::vector<std::size_t> changed_words(const std::string& before, const std::string& after) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < after.size(); at += kWord) {
    if (before.compare(at, kWord, after, at, kWord) != 0) {
      places.push_back(at);
    }
  }
  return places;
}

/// Records a slot's file while the snapshot of step 3 replaces that of step 1.
class SlotStates : public ::testing::Test {
 protected:
  SlotStates() {
    SnapshotMemory memory(sample_place(folder_.path()), sample_pieces());
    EXPECT_TRUE(take_sample(memory, {.step = 1}));
    EXPECT_TRUE(take_sample(memory, {.step = 2}));
    slot_ = file_of(folder_.path(), 1);
    states_.push_back(bytes_of(slot_));
    EXPECT_TRUE(memory.begin({.step = 3}));
    states_.push_back(bytes_of(slot_));
    for (std::size_t piece = 0; piece < memory.pieces().size(); ++piece) {
      const std::string text = sample_text(memory.pieces()[piece], 3);
      const auto bytes = std::as_bytes(std::span(text));
      for (const auto part : {bytes.first(bytes.size() / 2), bytes.subspan(bytes.size() / 2)}) {
        memory.copy(piece, part);
        states_.push_back(bytes_of(slot_));
      }
    }
    memory.complete();
    states_.push_back(bytes_of(slot_));
  }

  /// Restarts after a death with the slot in this state.
  void require_recovery(const std::string& state, const ::testing::Matcher<std::int64_t>& step) {
    write_bytes(slot_, state);
    EXPECT_THAT(newest_step(folder_.path()), step);
    for (const SnapshotEntry& entry : find_sample(folder_.path())) {
      EXPECT_NO_THROW(SnapshotFile{entry.file}) << "is listed, and damaged";
    }
    SnapshotMemory memory(sample_place(folder_.path()), sample_pieces());
    EXPECT_TRUE(take_sample(memory, {.step = 4}));
    EXPECT_EQ(newest_step(folder_.path()), 4);
    write_bytes(other_slot(), other_);
  }
  fs::path other_slot() const {
    for (const std::string& name : folder_.names()) {
      if (folder_.path() / name != slot_) {
        return folder_.path() / name;
      }
    }
    return {};
  }

  SharedFolder folder_;
  fs::path slot_;
  std::vector<std::string> states_;
  std::string other_;
};

TEST_F(SlotStates, BetweenTheStepsOfASnapshotLeaveTheOneBeforeOrTheNewOne) {
  other_ = bytes_of(other_slot());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    SCOPED_TRACE(i);
    require_recovery(states_[i], i + 1 == states_.size() ? 3 : 2);
  }
}

/// Stores may become visible in any order.
TEST_F(SlotStates, BetweenStoresOfTheEndAreNeverTakenForTheNewSnapshot) {
  const std::string& before = states_[states_.size() - 2];
  const std::string& after = states_.back();
  const std::vector<std::size_t> places = changed_words(before, after);
  ASSERT_LE(places.size(), 16U);
  ASSERT_GE(places.size(), 10U);  // step, state, seal and hashes
  for (std::uint32_t subset = 0; subset + 1 < 1U << places.size(); ++subset) {
    std::string state = before;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        state.replace(places[i], kWord, after, places[i], kWord);
      }
    }
    const auto bytes = std::as_bytes(std::span(state));
    const ParsedSlot slot = parse_slot(bytes, "slot");
    try {
      if (const auto id = id_of(slot, bytes, "slot")) {  // the state alone: step and hashes are old
        EXPECT_EQ(id->step, 1);
        write_bytes(slot_, state);
        EXPECT_THROW(SnapshotFile{slot_}, CheckpointError);
      }
    } catch (const CheckpointError&) {
      EXPECT_EQ(slot.header.state, kSlotWhole) << subset;  // sealed wrongly: in another order
    }
  }
}

TEST_F(SlotStates, WithAnyWordOfOlderDataAreFoundOut) {
  const std::string after = states_.back();
  const std::vector<std::size_t> places = changed_words(states_[1], after);
  const std::size_t data = parse_slot(std::as_bytes(std::span(after)), "slot").layout.hashes_offset;
  int torn = 0;
  for (const std::size_t at : places) {
    if (at < data) {
      continue;
    }
    std::string state = after;
    state.replace(at, kWord, states_[1], at, kWord);
    write_bytes(slot_, state);
    EXPECT_THROW(SnapshotFile{slot_}, CheckpointError) << at;
    ++torn;
  }
  EXPECT_GT(torn, 100);
}

TEST(SlotFile, ThatWasHalfMadeHoldsNothingAndIsReplaced) {
  const SharedFolder folder;
  { const SnapshotMemory memory(sample_place(folder.path()), sample_pieces()); }
  const fs::path slot = folder.path() / folder.names().front();
  const std::string made = bytes_of(slot);
  std::string unnamed = made;
  unnamed.replace(0, kSlotMagic.size(), kSlotMagic.size(), '\0');
  const std::size_t table = made.find('\0', kSlotPage + 1);
  std::vector<std::string> states{"", std::string(made.size(), '\0'), unnamed};
  for (std::size_t at = kWord; at < table; at += kWord) {  // the table, then the header
    std::string state(made.size(), '\0');
    state.replace(kSlotPage, at, unnamed, kSlotPage, at);
    states.push_back(state);
    state.replace(0, std::min(at, kSlotPage), unnamed, 0, std::min(at, kSlotPage));
    states.push_back(state);
  }
  for (const std::string& state : states) {
    write_bytes(slot, state);
    EXPECT_EQ(newest_step(folder.path()), 0);
    SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    EXPECT_TRUE(take_sample(memory, {.step = 4}));
    EXPECT_TRUE(take_sample(memory, {.step = 5}));
    memory.remove();
    EXPECT_THAT(folder.names(), IsEmpty());
  }
}

/// The progress of a worker's snapshot at its death.
enum class Progress { kNotBegun, kBegun, kHalf, kWhole, kNextBegun, kCount };

void advance(SnapshotMemory& memory, SnapshotId id, Progress progress) {
  if (progress == Progress::kWhole || progress == Progress::kNextBegun) {
    EXPECT_TRUE(take_sample(memory, id));
    ++id.step;
    EXPECT_TRUE(progress == Progress::kWhole || memory.begin(id));
  } else if (progress != Progress::kNotBegun) {
    EXPECT_TRUE(memory.begin(id));
    if (progress == Progress::kHalf) {
      const std::string text = sample_text(memory.pieces()[0], id.step);
      memory.copy(0, std::as_bytes(std::span(text)));
    }
  }
}

TEST(Workers, ThatDieAtOnceAmidSnapshotsLeaveAStepThatAllHave) {
  constexpr int kWorkers = 3;
  constexpr int kProgresses = static_cast<int>(Progress::kCount);
  const SharedFolder folder;
  std::int64_t whole = 0;
  for (int way = 0; way < kProgresses * kProgresses * kProgresses; ++way) {
    SCOPED_TRACE(way);
    {
      std::vector<std::unique_ptr<SnapshotMemory>> memories;
      for (int worker = 0; worker < kWorkers; ++worker) {
        memories.push_back(std::make_unique<SnapshotMemory>(
            sample_place(folder.path(), worker, kWorkers), sample_pieces()));
        memories.back()->protect(whole);
      }
      for (const auto& memory : memories) {  // a snapshot that all workers have and report
        ASSERT_TRUE(take_sample(*memory, {.step = whole + 1, .num_workers = kWorkers}));
      }
      ++whole;
      int rest = way;
      for (const auto& memory : memories) {
        memory->protect(whole);
        advance(*memory, {.step = whole + 1, .num_workers = kWorkers},
                static_cast<Progress>(rest % kProgresses));
        rest /= kProgresses;
      }
    }
    const std::int64_t left = newest_step(folder.path());
    EXPECT_THAT(left, AnyOf(whole, whole + 1));
    whole = left;
  }
}

}  // namespace
}  // namespace gangway::checkpoint
