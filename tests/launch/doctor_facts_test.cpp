// SPDX-License-Identifier: MIT
#include "launch/doctor_facts.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CleanSharedMemory, RemovesWhatKilledWorkersLeftAndNothingElse) {
  const gangway::testing::SharedFolder folder;
  const SharedSegment used(folder.path() / "gangway-used", 64);
  folder.leave_behind("gangway-left");
  EXPECT_EQ(clean_shared_memory(folder.path()), 1U);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gangway-used"});
  EXPECT_EQ(clean_shared_memory(folder.path()), 0U);
}

const std::vector<checkpoint::TensorStretch> kPieces{{.name = "a", .shape = {4}, .end = 4}};

checkpoint::SnapshotPlace place_of(const gangway::testing::SharedFolder& folder,
                                   const std::filesystem::path& run) {
  return {.folder = folder.path(), .run_directory = run, .job_fingerprint = "job"};
}

TEST(CleanSnapshots, RemovesThoseOfRunsThatAreOverAndTellsOfTheOthers) {
  const gangway::testing::SharedFolder folder;
  EXPECT_THAT(clean_snapshots(folder.path()), IsEmpty());
  const checkpoint::SnapshotMemory used(place_of(folder, folder.path()), kPieces);
  { const checkpoint::SnapshotMemory left(place_of(folder, folder.path() / "gone"), kPieces); }
  EXPECT_THAT(clean_snapshots(folder.path()),
              ElementsAre(HasSubstr("removed 2 of runs that have ended"),
                          AllOf(HasSubstr(folder.path().string()),
                                HasSubstr("in use by a living process"))));
  EXPECT_EQ(folder.names().size(), 2U);
}

TEST(CleanSnapshots, SaysWhatARunKeepsForHowLongAndWhatFreesIt) {
  const gangway::testing::SharedFolder folder;
  const std::filesystem::path run = folder.path() / "a run";
  std::filesystem::create_directory(run);
  {
    checkpoint::SnapshotMemory left(place_of(folder, run), kPieces);
    for (const std::int64_t step : {479, 480}) {
      ASSERT_TRUE(left.begin({.step = step}));
      left.copy(0, std::vector<std::byte>(kPieces[0].bytes()));
      left.complete();
    }
  }
  EXPECT_THAT(
      clean_snapshots(folder.path()),
      ElementsAre(AllOf(HasSubstr("up to step 480, 0.0 MiB"), HasSubstr("kept for another 7 days"),
                        HasSubstr("gangway snapshots rm '" + run.string() + "'"))));
}

}  // namespace
}  // namespace gangway::launch
