// SPDX-License-Identifier: MIT
#include "checkpoint/store/commit.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/checkpoint/write_worker_file.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// A temporary folder of step 5 with two files, and its manifest.
struct Parts {
  ScratchFolder folder{"/dev/shm"};
  Manifest manifest = sample_manifest(5);
  fs::path temporary = write_parts(
      folder.path(), sample_state(5), 2, [](std::size_t i) { return static_cast<int>(i % 2); },
      manifest);
  std::string commit_error() {
    return checkpoint_error_of([&] { (void)commit_checkpoint(temporary, manifest); });
  }
};

TEST(Commit, MakesAFolderOfTheFilesAndTheManifestAlone) {
  const ScratchFolder folder{"/dev/shm"};
  const fs::path path = commit_sample(folder.path() / "run" / "checkpoints", 123);
  EXPECT_EQ(path.filename(), "step-000000123");
  EXPECT_THAT(names_in(path),
              UnorderedElementsAre("manifest.json", "worker-0000-of-0002.safetensors",
                                   "worker-0001-of-0002.safetensors"));
  EXPECT_THAT(names_in(path.parent_path()), ElementsAre("step-000000123"));
  EXPECT_EQ(verify_checkpoint(path).tensor_count, 8);
}

TEST(Commit, LeavesNothingThatCouldBeTakenForACheckpointBefore) {
  Parts parts;
  EXPECT_THAT(list_checkpoints(parts.folder.path()), IsEmpty());
  EXPECT_EQ(newest_valid(parts.folder.path(), [](const std::string&) {}), std::nullopt);
}

TEST(Commit, RefusesAMissingFile) {
  Parts parts;
  fs::remove(parts.temporary / worker_file_name(1, 2));
  EXPECT_THAT(parts.commit_error(),
              HasSubstr("worker-0001-of-0002.safetensors: cannot be read: No such file"));
}

TEST(Commit, RefusesAFileOfAnotherSize) {
  Parts parts;
  parts.manifest.files[1].bytes -= 1;
  EXPECT_THAT(parts.commit_error(), HasSubstr("worker-0001-of-0002.safetensors: has"));
}

TEST(Commit, RefusesAFileOfAnotherStepOrEpoch) {
  Parts parts;
  parts.manifest.epoch = 2;
  EXPECT_THAT(parts.commit_error(),
              HasSubstr("says gangway.epoch = 1, the manifest 2: a file of another checkpoint"));

  const fs::path other = begin_checkpoint(parts.folder.path(), 6);
  const FileReport report =
      write_worker_file(other, {.step = 6, .epoch = 1, .worker = 0, .num_workers = 1}, {});
  parts.manifest.epoch = 1;
  parts.manifest.files = {
      {.name = report.name, .worker = 0, .bytes = report.bytes, .xxh3_128 = report.xxh3_128}};
  fs::remove(parts.temporary / worker_file_name(0, 2));
  fs::remove(parts.temporary / worker_file_name(1, 2));
  fs::rename(other / report.name, parts.temporary / report.name);
  fs::rename(other / record_name(report.name), parts.temporary / record_name(report.name));
  EXPECT_THAT(parts.commit_error(), HasSubstr("says gangway.step = 6, the manifest 5"));
}

TEST(Commit, RefusesATensorThatTwoWorkersWrote) {
  const ScratchFolder folder{"/dev/shm"};
  Manifest manifest = sample_manifest(5);
  const fs::path temporary = begin_checkpoint(folder.path(), 5);
  for (int worker = 0; worker < 2; ++worker) {
    const FileReport report =
        write_worker_file(temporary, {.step = 5, .epoch = 1, .worker = worker, .num_workers = 2},
                          records(sample_state(5)));
    manifest.files.push_back({.name = report.name,
                              .worker = worker,
                              .bytes = report.bytes,
                              .xxh3_128 = report.xxh3_128});
  }
  EXPECT_THAT(checkpoint_error_of([&] { (void)commit_checkpoint(temporary, manifest); }),
              HasSubstr("tensor 'discriminator.0.weight': elements from 0 on are in "
                        "worker-0000-of-0002.safetensors and in worker-0001-of-0002.safetensors"));
}

TEST(Commit, RefusesARecordThatIsNotTheReportedOne) {
  Parts parts;
  const fs::path record = parts.temporary / record_name(worker_file_name(1, 2));
  write_text(record, read_text(record) + " ");
  EXPECT_THAT(parts.commit_error(), HasSubstr("worker-0001-of-0002.safetensors.record: its content "
                                              "hashes to "));
  fs::remove(record);
  EXPECT_THAT(parts.commit_error(), HasSubstr(".record: cannot be read: No such file"));
}

TEST(Commit, RefusesAFileThatTheManifestDoesNotKnow) {
  Parts parts;
  fs::copy(parts.temporary / worker_file_name(0, 2), parts.temporary / worker_file_name(2, 3));
  EXPECT_THAT(parts.commit_error(),
              HasSubstr("worker-0002-of-0003.safetensors: is not in the manifest"));
}

TEST(Commit, OfAnEqualStepKeepsTheFirst) {
  Parts parts;
  const fs::path first = commit_checkpoint(parts.temporary, parts.manifest);
  const std::string manifest_before = read_text(first / kManifestName);
  const fs::path second = commit_sample(parts.folder.path(), 5, 1);
  EXPECT_EQ(second, first);
  EXPECT_EQ(read_text(first / kManifestName), manifest_before);
  EXPECT_THAT(names_in(parts.folder.path()), ElementsAre("step-000000005"));
}

/// A kernel or file system without renameat2.
class DiskOfAnotherAge : public PosixFileSystem {
 public:
  int rename_to_new(const fs::path& /*from*/, const fs::path& /*to*/) const override {
    errno = ENOSYS;
    return -1;
  }
};

TEST(Commit, WorksWhereRenamingCannotRefuseToReplace) {
  Parts parts;
  const fs::path first = commit_checkpoint(parts.temporary, parts.manifest, {}, DiskOfAnotherAge());
  EXPECT_EQ(verify_checkpoint(first).step, 5);
  const std::string before = read_text(first / kManifestName);
  Parts again;
  fs::copy(again.temporary, parts.temporary);
  EXPECT_EQ(commit_checkpoint(parts.temporary, again.manifest, {}, DiskOfAnotherAge()), first);
  EXPECT_EQ(read_text(first / kManifestName), before);
}

TEST(Commit, NeverReplacesAnotherJobsCheckpoint) {
  Parts parts;
  const fs::path first = commit_sample(parts.folder.path(), 5);
  parts.manifest.job_fingerprint = "another";
  EXPECT_THAT(parts.commit_error(),
              HasSubstr("exists already, of another job (5d1f, not another)"));
  EXPECT_EQ(verify_checkpoint(first).job_fingerprint, "5d1f");
}

TEST(Commit, SetsADamagedCheckpointOfTheSameStepAsideAndSaysSo) {
  Parts parts;
  const fs::path damaged = commit_sample(parts.folder.path(), 5);
  fs::resize_file(damaged / worker_file_name(0, 2), 100);
  std::vector<std::string> warnings;
  const fs::path path = commit_checkpoint(parts.temporary, parts.manifest, [&](std::string line) {
    warnings.push_back(std::move(line));
  });
  EXPECT_EQ(verify_checkpoint(path).step, 5);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("has 100 bytes"));
  EXPECT_THAT(warnings[0], HasSubstr("set aside as damaged-step-000000005-"));
  EXPECT_EQ(names_in(parts.folder.path()).size(), 2U);
}

TEST(Commit, TakesOnlyATemporaryOfItsStep) {
  Parts parts;
  parts.manifest.step = 6;
  EXPECT_THROW((void)commit_checkpoint(parts.temporary, parts.manifest), InvariantError);
  EXPECT_THROW((void)commit_checkpoint(parts.folder.path(), parts.manifest), InvariantError);
  EXPECT_THROW(discard_temporary(parts.folder.path()), InvariantError);
}

TEST(Commit, OfASaveThatFailedCanBeTriedAgain) {
  Parts parts;
  discard_temporary(parts.temporary);
  discard_temporary(parts.temporary);  // a missing folder is no error
  EXPECT_THAT(names_in(parts.folder.path()), IsEmpty());
  EXPECT_EQ(commit_sample(parts.folder.path(), 5).filename(), "step-000000005");
}

TEST(Commit, SaysWhereAFolderCannotBeMade) {
  const ScratchFolder folder{"/dev/shm"};
  write_text(folder.path() / "file", "");
  try {
    (void)begin_checkpoint(folder.path() / "file" / "checkpoints", 1);
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("file/checkpoints: cannot make the folder: Not a directory"));
  }
}

TEST(Names, AreRecognisedInFullOnly) {
  EXPECT_EQ(parse_step_name("step-000000123"), 123);
  EXPECT_EQ(parse_temporary_name(temporary_name(7)), 7);
  EXPECT_EQ(parse_doomed_name(doomed_name(7)), 7);
  for (const char* name : {"step-123", "step-0000001234", "step-00000012x", "step-000000123.old",
                           "xstep-000000123", ""}) {
    EXPECT_EQ(parse_step_name(name), std::nullopt) << name;
  }
  for (const char* name : {".tmp-step-000000007", ".tmp-step-000000007-0123",
                           ".tmp-step-000000007-0123456789abcdeX"}) {
    EXPECT_EQ(parse_temporary_name(name), std::nullopt) << name;
  }
  EXPECT_TRUE(is_worker_file_name("worker-0000-of-0002.safetensors"));
  EXPECT_TRUE(is_own_file_name(record_name(worker_file_name(0, 2))));
  EXPECT_TRUE(is_own_file_name(repair_name(worker_file_name(0, 2))));
  EXPECT_FALSE(is_own_file_name("notes.record"));
  for (const char* name : {"worker-.safetensors", "worker-0-of-.safetensors",
                           "worker-a-of-2.safetensors", "model.safetensors"}) {
    EXPECT_FALSE(is_worker_file_name(name)) << name;
  }
  EXPECT_THROW((void)step_name(kMaxStep + 1), InvariantError);
  EXPECT_THROW((void)step_name(-1), InvariantError);
}

}  // namespace
}  // namespace gangway::checkpoint
