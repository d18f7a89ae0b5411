// SPDX-License-Identifier: MIT
#include "checkpoint/store/scan.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/retention.hpp"
#include "checkpoint/store/verify.hpp"
#include "checkpoint/store/warn.hpp"
#include "checkpoint/tools/digest.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Scan : public ::testing::Test {
 protected:
  /// Calls newest_valid and collects its warnings.
  std::optional<Found> newest() {
    return newest_valid(folder.path(),
                        [this](std::string line) { warnings.push_back(std::move(line)); });
  }
  std::string verify_error(const fs::path& path) {
    return checkpoint_error_of([&] { (void)verify_checkpoint(path); });
  }
  ScratchFolder folder{"/dev/shm"};
  std::vector<std::string> warnings;
};

TEST_F(Scan, FindsNothingWhereThereIsNothing) {
  EXPECT_EQ(newest_valid(folder.path() / "absent", [](const std::string&) {}), std::nullopt);
  EXPECT_THAT(list_checkpoints(folder.path() / "absent"), IsEmpty());
  EXPECT_EQ(newest(), std::nullopt);
}

TEST_F(Scan, ListsTheNewestFirst) {
  (void)commit_sample(folder.path(), 9);
  (void)commit_sample(folder.path(), 100);
  (void)commit_sample(folder.path(), 20);
  std::vector<std::int64_t> steps;
  for (const CheckpointEntry& entry : list_checkpoints(folder.path())) {
    steps.push_back(entry.step);
    EXPECT_EQ(entry.status, CheckpointStatus::kComplete);
    EXPECT_GT(entry.bytes, 4096U);
  }
  EXPECT_THAT(steps, ElementsAre(100, 20, 9));
}

TEST_F(Scan, FindsTheCheckpointOfAStepOrTheNewestCompleteOne) {
  EXPECT_THROW((void)find_checkpoint(folder.path(), {}), CheckpointError);
  (void)commit_sample(folder.path(), 1);
  (void)commit_sample(folder.path(), 2);
  fs::remove(commit_sample(folder.path(), 3) / worker_file_name(0, 2));
  EXPECT_EQ(find_checkpoint(folder.path(), {}).step, 2);
  EXPECT_EQ(find_checkpoint(folder.path(), 1).step, 1);
  EXPECT_EQ(find_checkpoint(folder.path(), 3).status, CheckpointStatus::kDamaged);
  EXPECT_THAT(checkpoint_error_of([&] { (void)find_checkpoint(folder.path(), 5); }),
              HasSubstr("has no checkpoint of step 5"));
}

TEST_F(Scan, TakesTheNewestWhenItIsSound) {
  (void)commit_sample(folder.path(), 1);
  (void)commit_sample(folder.path(), 2);
  const auto found = newest();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 2);
  EXPECT_EQ(found->manifest.images, 256);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(Scan, FallsBackToTheOlderOneAndSaysSoInOneLine) {
  (void)commit_sample(folder.path(), 1);
  const fs::path damaged = commit_sample(folder.path(), 2);
  fs::resize_file(damaged / worker_file_name(1, 2), 4200);
  const auto found = newest();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 1);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0],
              AllOf(HasSubstr("step-000000002/worker-0001-of-0002.safetensors: has 4200 bytes"),
                    HasSubstr("truncated; resuming from the older step-000000001")));
  EXPECT_EQ(warnings[0].find('\n'), std::string::npos);
}

TEST_F(Scan, SaysWhenNoneIsValid) {
  fs::remove(commit_sample(folder.path(), 1) / kManifestName);
  EXPECT_EQ(newest(), std::nullopt);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("manifest.json: cannot be read: No such file or directory; no "
                                     "older checkpoint is valid"));
}

TEST_F(Scan, SeesAMissingFile) {
  const fs::path path = commit_sample(folder.path(), 1);
  fs::remove(path / worker_file_name(0, 2));
  EXPECT_THAT(verify_error(path), HasSubstr("worker-0000-of-0002.safetensors: cannot be read"));
  EXPECT_EQ(list_checkpoints(folder.path()).at(0).status, CheckpointStatus::kDamaged);
}

TEST_F(Scan, SeesAnExtraWorkerFileButLeavesAPersonsNotesAlone) {
  const fs::path path = commit_sample(folder.path(), 1);
  write_text(path / "notes.txt", "the good one");
  EXPECT_EQ(verify_error(path), "");
  fs::copy(path / worker_file_name(0, 2), path / worker_file_name(0, 3));
  EXPECT_THAT(verify_error(path),
              HasSubstr("worker-0000-of-0003.safetensors: is not in the manifest"));
}

TEST_F(Scan, SeesSwappedFiles) {
  const fs::path path = commit_sample(folder.path(), 1);
  fs::rename(path / worker_file_name(0, 2), path / "x");
  fs::rename(path / worker_file_name(1, 2), path / worker_file_name(0, 2));
  fs::rename(path / "x", path / worker_file_name(1, 2));
  EXPECT_NE(verify_error(path), "");
}

TEST_F(Scan, SeesAFileOfAnotherStep) {
  const fs::path first = commit_sample(folder.path(), 1);
  const fs::path second = commit_sample(folder.path(), 2);
  fs::copy(first / worker_file_name(0, 2), second / worker_file_name(0, 2),
           fs::copy_options::overwrite_existing);
  EXPECT_THAT(verify_error(second),
              HasSubstr("says gangway.step = 1, the manifest 2: a file of another checkpoint"));
}

TEST_F(Scan, SeesAFileOfAnotherSaveOfTheSameStep) {
  const fs::path ours = commit_sample(folder.path() / "a", 1);
  Manifest manifest = sample_manifest(1);
  std::vector<OwnedTensor> state = sample_state(1);
  state[0].bytes[0] ^= std::byte{1};
  const fs::path temporary = write_parts(
      folder.path() / "b", state, 2, [](std::size_t i) { return static_cast<int>(i % 2); },
      manifest);
  const fs::path other = commit_checkpoint(temporary, manifest);
  fs::copy(other / worker_file_name(0, 2), ours / worker_file_name(0, 2),
           fs::copy_options::overwrite_existing);
  EXPECT_THAT(verify_error(ours),
              HasSubstr("worker-0000-of-0002.safetensors: chunk 0 (bytes 0 to 9828, tensors "
                        "'ema.generator.0.weight' to 'generator.0.weight'): its CRC32C is "));
}

TEST_F(Scan, SeesAManifestOfAnotherStep) {
  const fs::path first = commit_sample(folder.path(), 1);
  const fs::path second = commit_sample(folder.path(), 2);
  fs::copy(first / kManifestName, second / kManifestName, fs::copy_options::overwrite_existing);
  EXPECT_THAT(verify_error(second), HasSubstr("its manifest is of step 1: the folder was renamed"));
}

TEST_F(Scan, ReadsACheckpointThatWasCopiedUnderAnotherName) {
  const fs::path copy = folder.path() / "the best one";
  fs::copy(commit_sample(folder.path(), 1), copy);
  EXPECT_EQ(verify_checkpoint(copy).step, 1);
}

TEST_F(Scan, LooksAsDeepAsItIsAskedTo) {
  (void)commit_sample(folder.path(), 1);
  const fs::path newest = commit_sample(folder.path(), 2);
  const fs::path file = newest / worker_file_name(0, 2);
  std::string content = read_text(file);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_text(file, content);
  std::vector<std::string> lines;
  const Warn warn = [&](std::string line) { lines.push_back(std::move(line)); };
  // A load verifies what it reads: it finds the damage by itself and asks for an older checkpoint.
  EXPECT_EQ(newest_valid(folder.path(), warn, Depth::kStructure)->step, 2);
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(newest_valid(folder.path(), warn, Depth::kStructure, 2)->step, 1);
  EXPECT_EQ(newest_valid(folder.path(), warn)->step, 1);
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(newest_valid(folder.path(), warn, Depth::kContents, 1), std::nullopt);
  StoredState state(newest);
  const auto read_all = [&state] {
    for (const StoredTensor& tensor : state.tensors()) {
      (void)bytes_of(state, tensor);
    }
  };
  EXPECT_THAT(checkpoint_error_of(read_all), HasSubstr("its CRC32C is "));
}

TEST_F(Scan, FindsOneWhileAnotherThreadSavesAndDeletes) {
  (void)commit_sample(folder.path(), 1);
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    for (std::int64_t step = 2; step < 40; ++step) {
      (void)commit_sample(folder.path(), step);
      (void)remove_old(folder.path(), {.keep = 1});
    }
    done = true;
  });
  std::int64_t newest = 1;
  while (!done) {
    // The found checkpoint may be deleted while it is read. It then counts as damaged, and the next
    // search finds a newer one.
    const std::optional<Found> found =
        newest_valid(folder.path(), [](const std::string& line) { ADD_FAILURE() << line; });
    ASSERT_TRUE(found);
    EXPECT_GE(found->step, newest);
    newest = found->step;
    const std::string error = checkpoint_error_of([&] { (void)digest(found->path); });
    EXPECT_TRUE(error.empty() || !fs::exists(found->path)) << error;
    for (const CheckpointEntry& entry : list_checkpoints(folder.path())) {
      EXPECT_EQ(entry.damage, "") << "what is being removed is not damaged";
    }
  }
}

TEST_F(Scan, FollowsNoLinks) {
  const fs::path path = commit_sample(folder.path() / "elsewhere", 1);
  fs::create_directory_symlink(path, folder.path() / "step-000000001");
  EXPECT_THAT(verify_error(folder.path() / "step-000000001"),
              HasSubstr("is a symbolic link, which is refused"));
  EXPECT_THAT(verify_error(folder.path() / "step-000000001" / ""),
              HasSubstr("is a symbolic link, which is refused"));
  EXPECT_EQ(newest(), std::nullopt);

  fs::rename(path / worker_file_name(0, 2), folder.path() / "data");
  fs::create_symlink(folder.path() / "data", path / worker_file_name(0, 2));
  EXPECT_THAT(verify_error(path),
              HasSubstr("worker-0000-of-0002.safetensors: cannot be read: is a symbolic link"));
}

TEST_F(Scan, IgnoresTheOwnerThatACrashLeftBehind) {
  const fs::path path = commit_sample(folder.path(), 1);
  write_text(path / "owner.json", "{}");
  EXPECT_EQ(verify_error(path), "");
}

TEST_F(Scan, StateHasTensorsOfAllFiles) {
  const fs::path path = commit_sample(folder.path(), 4, 3);
  StoredState state(path);
  EXPECT_EQ(state.manifest().files.size(), 3U);
  EXPECT_EQ(state.tensors().size(), 8U);
  for (const OwnedTensor& tensor : sample_state(4)) {
    EXPECT_EQ(bytes_of(state, state.require(tensor.name)), tensor.bytes) << tensor.name;
  }
  EXPECT_EQ(state.find("absent"), nullptr);
  EXPECT_THAT(
      checkpoint_error_of([&] { (void)state.require("absent"); }),
      HasSubstr("step-000000004: tensor 'absent' is missing: a checkpoint of another model?"));
}

}  // namespace
}  // namespace gangway::checkpoint
