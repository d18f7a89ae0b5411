// SPDX-License-Identifier: MIT
#include "checkpoint/tools/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/manifest.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  fs::path run() const { return folder.path(); }
  void commit(std::int64_t step) { (void)commit_sample(checkpoints_folder(run()), step); }
  const std::chrono::system_clock::time_point now = parse_rfc3339("2026-11-21T11:06:00Z");
  ScratchFolder folder;
};

TEST_F(Report, ListsAlignedNewestFirst) {
  commit(10);
  commit(2000);
  EXPECT_EQ(list_text(run(), now),
            "step   kimg     age     size  files  status\n"
            "2000  256.0  30 min  14.0 kB      2  complete\n"
            "  10    1.3  30 min  14.0 kB      2  complete\n");
}

TEST_F(Report, ListsDamageWithItsCause) {
  commit(10);
  fs::remove(checkpoints_folder(run()) / "step-000000010" / kManifestName);
  const std::string text = list_text(run(), now);
  EXPECT_THAT(text, HasSubstr("  10     -    -     -      -  damaged: "));
  EXPECT_THAT(text, HasSubstr("manifest.json: cannot be read: No such file or directory\n"));
}

TEST_F(Report, TellsAnEmptyRunFromNoRun) {
  EXPECT_THAT(list_text(run(), now), HasSubstr(": no checkpoints\n"));
  EXPECT_FALSE(verify_text(run()).all_valid);
  EXPECT_THAT(checkpoint_error_of([&] { (void)list_text(run() / "typo", now); }),
              HasSubstr("typo: no such run directory"));
}

TEST_F(Report, VerifiesAllOrOne) {
  commit(1);
  commit(2);
  const VerifyText sound = verify_text(run());
  EXPECT_TRUE(sound.all_valid);
  EXPECT_THAT(sound.text, HasSubstr("step-000000002  ok  8 tensors in 2 files, 14.0 kB\n"));

  const fs::path file = checkpoints_folder(run()) / "step-000000001" / worker_file_name(0, 2);
  std::string content = read_text(file);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_text(file, content);
  const VerifyText damaged = verify_text(run());
  EXPECT_FALSE(damaged.all_valid);
  EXPECT_THAT(damaged.text, HasSubstr("step-000000001  DAMAGED  "));
  EXPECT_TRUE(verify_text(run(), 2).all_valid);
  EXPECT_FALSE(verify_text(run(), 1).all_valid);
  EXPECT_THAT(checkpoint_error_of([&] { (void)verify_text(run(), 3); }),
              HasSubstr("has no checkpoint of step 3"));
}

TEST_F(Report, ShowsManifestJobAndTensors) {
  commit(1);
  commit(2);
  const std::string text = show_text(run());
  EXPECT_THAT(text, HasSubstr("step        2\n"));
  EXPECT_THAT(text, HasSubstr("numerics    threads=1 wire=fp32\n"));
  EXPECT_THAT(text, HasSubstr("job file\n  training:\n    batch: 128"));
  EXPECT_THAT(text, HasSubstr(" 4608  F32   [16, 8, 3, 3]  1       generator.0.weight\n"));
  EXPECT_THAT(text, HasSubstr("    8  I64   []             1       optimizer.generator.steps\n"));
  EXPECT_THAT(show_text(run(), 1), HasSubstr("step        1\n"));
}

TEST_F(Report, HasNothingToShowWithoutACheckpoint) {
  EXPECT_THAT(checkpoint_error_of([&] { (void)show_text(run()); }),
              HasSubstr("has no complete checkpoint"));
}

}  // namespace
}  // namespace gangway::checkpoint
