// SPDX-License-Identifier: MIT
// Cuts the power at every call of a save, a repair and a copy of snapshots. Lets every call fail
// once. Complete states must survive, damaged ones must not load, the next attempt must succeed.
#include <cerrno>
#include <functional>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/files/durable_file.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/tools/digest.hpp"
#include "checkpoint/tools/repair.hpp"
#include "tests/checkpoint/forgetful_disk.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/checkpoint/write_worker_file.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::uint64_t kChances = 4;  // torn states of the disk for each cut

/// The end of a deed, and the state of its disk.
struct End {
  bool is_done = false;     ///< whether the deed returned without an error
  bool is_in_order = true;  ///< the disk took all unsynced changes, or none
};

/// A tested operation on a folder, with the requirements on the folder that it leaves.
struct Deed {
  std::function<void(const fs::path& root)> prepare;
  std::function<void(const fs::path& root, const FileSystem& disk)> act;
  std::function<void(const fs::path& root, End end)> require;
};

class CrashPoints : public ::testing::Test {
 protected:
  fs::path fresh() { return memory_.path() / std::to_string(number_++); }

  /// A disk after an attempt at the deed, which may have failed.
  struct Attempt {
    fs::path root;
    std::unique_ptr<ForgetfulDisk> disk;
    bool is_done = false;
    std::string error;
  };
  Attempt attempt(const Deed& deed, Fault fault) {
    Attempt attempt{.root = fresh()};
    fs::create_directory(attempt.root);
    deed.prepare(attempt.root);
    attempt.disk = std::make_unique<ForgetfulDisk>(attempt.root, fault);
    try {
      deed.act(attempt.root, *attempt.disk);
      attempt.is_done = true;
    } catch (const PowerCut&) {
    } catch (const Error& error) {
      attempt.error = error.what();
    }
    return attempt;
  }

  void require_left(const Deed& deed, const Attempt& attempt, const Survival& survival,
                    bool is_in_order = true) {
    const fs::path left = fresh();
    attempt.disk->leave(left, survival);
    deed.require(left, {.is_done = attempt.is_done, .is_in_order = is_in_order});
    fs::remove_all(left);
  }

  /// Cuts the power before each call and after the last. @return the number of calls
  int cut_everywhere(const Deed& deed) {
    for (int call = 0;; ++call) {
      SCOPED_TRACE("cut before call " + std::to_string(call));
      const Attempt cut = attempt(deed, {.kind = Fault::Kind::kCut, .call = call});
      EXPECT_EQ(cut.error, "");
      require_left(deed, cut, Survival::of_nothing());
      require_left(deed, cut, Survival::of_everything());
      for (std::uint64_t seed = 0; seed < kChances; ++seed) {
        SCOPED_TRACE("by chance " + std::to_string(seed));
        require_left(deed, cut, Survival::by_chance(seed + static_cast<std::uint64_t>(call)),
                     /*is_in_order=*/false);
      }
      fs::remove_all(cut.root);
      if (cut.is_done || HasFailure()) {
        return call;
      }
    }
  }

  /// Lets each call fail once: the error names the place, and a later power cut loses nothing.
  void fail_everywhere(const Deed& deed, int calls) {
    const std::vector<int> errors{EIO, ENOSPC, EDQUOT, EROFS, EACCES};
    for (int call = 0; call < calls && !HasFailure(); ++call) {
      const int error = errors[static_cast<std::size_t>(call) % errors.size()];
      SCOPED_TRACE("error " + std::to_string(error) + " of call " + std::to_string(call));
      const Attempt failed =
          attempt(deed, {.kind = Fault::Kind::kFail, .call = call, .error = error});
      if (!failed.is_done) {
        EXPECT_THAT(failed.error, AllOf(StartsWith(failed.root.string()),
                                        HasSubstr(cause_of(error)), Not(HasSubstr("\n"))));
      }
      EXPECT_THAT(failed.disk->synced_twice(), IsEmpty());
      require_left(deed, failed, Survival::of_nothing());
      deed.require(failed.root, {.is_done = failed.is_done});
      fs::remove_all(failed.root);
    }
  }

  /// Signals and short transfers must change nothing.
  void interrupt(const Deed& deed) {
    for (const Fault::Kind kind : {Fault::Kind::kInterrupt, Fault::Kind::kDribble}) {
      const Attempt interrupted = attempt(deed, {.kind = kind, .call = -1});
      EXPECT_EQ(interrupted.error, "");
      require_left(deed, interrupted, Survival::of_nothing());
      fs::remove_all(interrupted.root);
    }
  }

  /// @param least  calls of the deed; fewer mean that it bypassed the disk
  void try_everything(const Deed& deed, int least) {
    const int calls = cut_everywhere(deed);
    EXPECT_GE(calls, least);
    fail_everywhere(deed, calls);
    interrupt(deed);
  }

 private:
  ScratchFolder memory_{"/dev/shm"};  // in memory, because it gets thousands of files
  int number_ = 0;
};

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path checkpoints_in(const fs::path& root) { return root / "run" / "checkpoints"; }

/// Saves as the workers and the coordinator do.
void save(const fs::path& checkpoints, std::int64_t step, const FileSystem& disk) {
  const fs::path temporary = begin_checkpoint(checkpoints, step, disk);
  try {
    Manifest manifest = sample_manifest(step);
    const std::vector<OwnedTensor> state = sample_state(step);
    for (int worker = 0; worker < 2; ++worker) {
      const auto half = static_cast<std::ptrdiff_t>(state.size() / 2);
      const FileReport report = write_worker_file(
          temporary, {.step = step, .epoch = 1, .worker = worker, .num_workers = 2},
          records(worker == 0 ? std::vector(state.begin(), state.begin() + half)
                              : std::vector(state.begin() + half, state.end())),
          disk);
      manifest.files.push_back({.name = report.name,
                                .worker = worker,
                                .bytes = report.bytes,
                                .xxh3_128 = report.xxh3_128});
    }
    (void)commit_checkpoint(temporary, manifest, {}, disk);
  } catch (const Error&) {
    discard_temporary(temporary, disk);
    throw;
  }
}

/// Marks the owners of temporary folders as dead, as after a cut.
void bury_owners(const fs::path& checkpoints) {
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    const fs::path owner = entry.path() / kOwnerName;
    const std::string boot = "\"boot_id\": \"";
    if (std::string text = fs::exists(owner) ? read_text(owner) : "";
        text.find(boot) != text.npos) {
      write_text(owner, text.insert(text.find(boot) + boot.size(), "earlier"));
    }
  }
}

/// Saves step 3 into a folder of checkpoints, then another step.
class SaveCrashPoints : public CrashPoints {
 protected:
  SaveCrashPoints() {
    for (std::int64_t step = 1; step <= 4; ++step) {
      digests_[step] = digest(commit_sample(templates_.path() / "run" / "checkpoints", step));
    }
  }

  /// `steps` are saved before.
  [[nodiscard]] Deed saving(std::vector<std::int64_t> steps) {
    return {.prepare =
                [this, steps](const fs::path& root) {
                  committed_ = false;
                  fs::create_directory(root / "run");
                  for (const std::int64_t step : steps) {
                    fs::create_directories(checkpoints_in(root));
                    fs::copy(checkpoints_in(templates_.path()) / step_name(step),
                             checkpoints_in(root) / step_name(step));
                  }
                },
            .act =
                [this](const fs::path& root, const FileSystem& disk) {
                  save(checkpoints_in(root), 3, disk);
                  committed_ = true;
                  (void)remove_old(checkpoints_in(root), {.keep = 2}, disk);
                },
            .require =
                [this, before = steps.empty() ? 0 : steps.back()](const fs::path& root, End end) {
                  require_checkpoint(checkpoints_in(root), before, end);
                  require_next_save(checkpoints_in(root));
                }};
  }

  void require_checkpoint(const fs::path& checkpoints, std::int64_t before, End end) {
    std::vector<std::string> lines;
    const std::optional<Found> found = newest_valid(
        checkpoints, [&](std::string line) { lines.push_back(std::move(line)); },
        Depth::kStructure);  // contents are checked below
    const std::int64_t step = found ? found->step : 0;
    EXPECT_THAT(step, AnyOf(committed_ ? 3 : before, 3));
    EXPECT_THAT(lines, IsEmpty());
    for (const CheckpointEntry& entry : list_checkpoints(checkpoints)) {
      if (entry.status == CheckpointStatus::kComplete) {
        EXPECT_EQ(digest(entry.path), digests_[entry.step]) << entry.path;
      } else {
        EXPECT_FALSE(end.is_in_order) << entry.damage;  // its files were removed before its name
      }
    }
  }

  void require_next_save(const fs::path& checkpoints) {
    if (fs::exists(checkpoints)) {
      bury_owners(checkpoints);
      (void)remove_stale_temporaries(checkpoints);
    }
    save(checkpoints, 4, PosixFileSystem());
    (void)remove_old(checkpoints, {.keep = 2});
    EXPECT_EQ(digest(checkpoints / step_name(4)), digests_[4]);
    for (const std::string& name : names_in(checkpoints)) {
      EXPECT_THAT(name, StartsWith("step-"));
    }
  }

  ScratchFolder templates_{"/dev/shm"};
  std::map<std::int64_t, std::string> digests_;
  bool committed_ = false;
};

TEST_F(SaveCrashPoints, OfASaveThatRemovesTheOldestLeaveTheOldOrTheNewOne) {
  try_everything(saving({1, 2}), 40);
}

TEST_F(SaveCrashPoints, OfTheFirstSaveLeaveNothingOrTheWholeOne) { try_everything(saving({}), 30); }

TEST_F(SaveCrashPoints, OfASaveOverADamagedOneOfTheSameStepLeaveTheOlderOrTheNewOne) {
  Deed deed = saving({1, 2});
  deed.prepare = [prepare = deed.prepare, this](const fs::path& root) {
    prepare(root);
    const fs::path damaged = checkpoints_in(root) / step_name(3);
    fs::copy(checkpoints_in(templates_.path()) / step_name(3), damaged);
    fs::resize_file(damaged / worker_file_name(0, 2), 100);
  };
  deed.require = [this](const fs::path& root, End end) {
    const auto found = newest_valid(checkpoints_in(root), [](const std::string&) {});
    ASSERT_TRUE(found);
    EXPECT_THAT(found->step, AnyOf(end.is_done || committed_ ? 3 : 2, 3));
    EXPECT_EQ(digest(found->path), digests_[found->step]);
  };
  try_everything(deed, 40);
}

/// A checkpoint with two damaged files, and a sound copy of it.
class RepairCrashPoints : public CrashPoints {
 protected:
  RepairCrashPoints() {
    fs::copy(commit_sample_in_pieces(sound_.path(), 3, 2), damaged_);
    for (int worker = 0; worker < 2; ++worker) {
      const fs::path file = damaged_ / worker_file_name(worker, 2);
      std::string content = read_text(file);
      content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 16);
      write_text(file, content);
    }
  }

  [[nodiscard]] Deed repairing() const {
    return {.prepare = [this](const fs::path& root) { fs::copy(damaged_, root / "it"); },
            .act =
                [this](const fs::path& root, const FileSystem& disk) {
                  const RepairResult result =
                      repair_checkpoint(root / "it", elements_of(source_), disk);
                  EXPECT_THAT(result.left, IsEmpty());
                },
            .require =
                [this](const fs::path& root, End end) {
                  require_files(root / "it", end.is_done);
                  EXPECT_THAT(repair_checkpoint(root / "it", elements_of(source_)).left, IsEmpty());
                  require_files(root / "it", true);
                  EXPECT_EQ(names_in(root / "it"), names_in(source_));
                }};
  }
  void require_files(const fs::path& checkpoint, bool are_sound) const {
    for (const std::string& name : names_in(source_)) {
      const std::string content = read_text(checkpoint / name);
      EXPECT_TRUE(content == read_text(source_ / name) ||
                  (!are_sound && content == read_text(damaged_ / name)))
          << name;
    }
  }

  ScratchFolder sound_{"/dev/shm"};
  fs::path source_ = sound_.path() / step_name(3);
  fs::path damaged_ = sound_.path() / "damaged";
};

TEST_F(RepairCrashPoints, LeaveEachFileAsItWasOrSound) { try_everything(repairing(), 14); }

/// Copies two snapshots from memory to the disk.
class CopyCrashPoints : public CrashPoints {
 protected:
  [[nodiscard]] Deed copying() const {
    return {.prepare = [](const fs::path& root) { fs::create_directory(root / "kept"); },
            .act = [this](const fs::path& root,
                          const FileSystem& disk) { (void)copy_snapshots(keep(root), disk); },
            .require =
                [this](const fs::path& root, End end) {
                  require_whole(root, end.is_done);
                  give_halves_to_another_process(root / "kept");
                  (void)copy_snapshots(keep(root));
                  require_whole(root, true);
                  EXPECT_THAT(names_in(root / "kept"), SizeIs(2));
                }};
  }
  [[nodiscard]] KeepSnapshots keep(const fs::path& root) const {
    return {.shared_memory = shared_.path(),
            .folder = root / "kept",
            .key = sample_key(shared_.path()),
            .is_sole_copier = true};
  }
  static void give_halves_to_another_process(const fs::path& kept) {
    for (const std::string& name : names_in(kept)) {
      if (name.ends_with(".copy")) {
        const std::size_t process = name.rfind('.', name.size() - 6);
        fs::rename(kept / name, kept / (name.substr(0, process) + ".1.copy"));
      }
    }
  }
  void require_whole(const fs::path& root, bool are_all) const {
    const fs::path kept = root / "kept";
    std::vector<std::int64_t> steps;
    for (const SnapshotEntry& entry :
         find_snapshots(std::span(&kept, 1), sample_key(shared_.path()),
                        [](const std::string& line) { ADD_FAILURE() << line; })) {
      EXPECT_EQ(as_text(SnapshotFile(entry.file).bytes(1)),
                sample_text(sample_pieces()[1], entry.id.step));
      steps.push_back(entry.id.step);
    }
    if (are_all) {
      EXPECT_THAT(steps, ElementsAre(2, 1));
    }
  }

  gangway::testing::SharedFolder shared_;
};

TEST_F(CopyCrashPoints, LeaveWholeCopiesOrNone) {
  leave(shared_.path(), {1, 2});
  try_everything(copying(), 12);
}

TEST(DurableFile, IsReadInAnyPartsThatTheDiskGives) {
  const ScratchFolder folder;
  const fs::path path = folder.write("file", "a file that comes in parts");
  const ForgetfulDisk disk(folder.path(), {.kind = Fault::Kind::kDribble, .call = -1});
  std::string text(20, ' ');
  read_exactly(open_regular_file(path), 2, std::as_writable_bytes(std::span(text)), path, disk);
  EXPECT_EQ(text, "file that comes in p");
  EXPECT_GT(disk.calls(), 5);
}

}  // namespace
}  // namespace gangway::checkpoint
