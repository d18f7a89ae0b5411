// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_runs.hpp"

#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/snapshots/snapshot_files.hpp"
#include "run/run_files.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

using gangway::testing::SharedFolder;
using ::testing::ElementsAre;

void leave(const fs::path& folder, const std::vector<std::int64_t>& steps) {
  SnapshotMemory memory(sample_place(folder), sample_pieces());
  for (const std::int64_t step : steps) {
    ASSERT_TRUE(take_sample(memory, {.step = step}));
  }
}

TEST(ReapSnapshots, RemovesThoseThatNobodyHasComeBackFor) {
  const SharedFolder folder;
  const fs::path run = folder.path() / "run";
  fs::create_directory(run);
  leave(folder.path(), {3, 5});
  write_status(run, {.exit_code = 3, .reason = "a worker was lost"});
  const auto now = fs::file_time_type::clock::now();
  EXPECT_EQ(reap_snapshots(folder.path(), now + kSnapshotsKept - std::chrono::hours(1)).kept, 2U);
  const auto later = now + kSnapshotsKept + std::chrono::hours(1);
  fs::last_write_time(run / kStatusFile, later);
  EXPECT_EQ(reap_snapshots(folder.path(), later).kept, 2U) << "the run shows a sign of life";
  fs::last_write_time(run / kStatusFile, now);
  {
    const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
    EXPECT_EQ(reap_snapshots(folder.path(), later).kept, 2U) << "a living process has them";
  }
  EXPECT_EQ(reap_snapshots(folder.path(), later).removed, 2U);
}

TEST(SnapshotRuns, AreCountedByRunAndRemovedByRun) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  leave(folder.path(), {3, 5});
  const SnapshotSurvey survey = survey_snapshots(folder.path());
  ASSERT_EQ(survey.runs.size(), 1U);
  EXPECT_EQ(survey.runs[0].run_directory, folder.path() / "run");
  EXPECT_EQ(survey.runs[0].files, 2U);
  EXPECT_EQ(survey.runs[0].newest_step, 5);
  EXPECT_GT(survey.runs[0].bytes, 8192U);
  EXPECT_FALSE(survey.runs[0].is_in_use);
  EXPECT_EQ(remove_run_snapshots({folder.path()}, folder.path() / "other").files, 0U);
  EXPECT_EQ(remove_run_snapshots({folder.path()}, folder.path() / "run").files, 2U);
  EXPECT_THAT(folder.names(), ElementsAre("run"));
}

TEST(SnapshotRuns, OfTheLivingStay) {
  const SharedFolder folder;
  fs::create_directory(folder.path() / "run");
  const SnapshotMemory memory(sample_place(folder.path()), sample_pieces());
  EXPECT_TRUE(survey_snapshots(folder.path()).runs.at(0).is_in_use);
  EXPECT_EQ(remove_run_snapshots({folder.path()}, folder.path() / "run").files, 0U);
}

TEST(SnapshotRuns, SayHowLongInOneUnit) {
  EXPECT_EQ(duration_text(std::chrono::seconds(-5)), "0 s");
  EXPECT_EQ(duration_text(std::chrono::seconds(119)), "119 s");
  EXPECT_EQ(duration_text(std::chrono::minutes(119)), "119 min");
  EXPECT_EQ(duration_text(std::chrono::hours(47)), "47 h");
  EXPECT_EQ(duration_text(kSnapshotsKept), "7 days");
}

}  // namespace
}  // namespace gangway::checkpoint
