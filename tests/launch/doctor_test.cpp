// SPDX-License-Identifier: MIT
#include "launch/doctor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "base/file_descriptor.hpp"
#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Findings, AreHealthyUnlessOneIsBad) {
  std::vector<Finding> findings{{"a", Health::kGood, "1"}, {"b", Health::kNote, "2"}};
  EXPECT_TRUE(is_healthy(findings));
  findings.push_back({"c", Health::kBad, "mend it"});
  EXPECT_FALSE(is_healthy(findings));
}

TEST(Findings, CanBeReadByPrograms) {
  const auto json = nlohmann::json::parse(findings_json({{"disk", Health::kBad, "\"full\""}}));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["findings"][0]["health"], "bad");
  EXPECT_EQ(json["findings"][0]["detail"], "\"full\"");
}

TEST(Findings, CanBeReadByPeople) {
  const std::string text = findings_text({{"disk", Health::kGood, "1 GiB"}});
  EXPECT_NE(text.find("disk  good    1 GiB"), std::string::npos) << text;
}

TEST(CleanSharedMemory, RemovesWhatKilledWorkersLeftAndNothingElse) {
  const gangway::testing::SharedFolder folder;
  const SharedSegment used(folder.path() / "gangway-used", 64);
  folder.leave_behind("gangway-left");
  const Finding finding = clean_shared_memory(folder.path());
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_NE(finding.detail.find("removed 1 "), std::string::npos) << finding.detail;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"gangway-used"});
  EXPECT_EQ(clean_shared_memory(folder.path()).health, Health::kGood);
}

TEST(FindGpuBinding, WarnsWhereSlurmShowsATaskItsOwnGpusAlone) {
  EXPECT_FALSE(find_gpu_binding({{"SLURM_JOB_ID", "7"}, {"SLURM_GPUS_PER_NODE", "8"}}));
  const auto finding = find_gpu_binding({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_JOB_ID", "7"}});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->health, Health::kNote);
  EXPECT_THAT(finding->detail, AllOf(HasSubstr("SLURM_GPUS_PER_TASK=1"),
                                     HasSubstr("--gpus-per-node"), HasSubstr("--gpu-bind=none")));
  EXPECT_TRUE(find_gpu_binding({{"SLURM_GPU_BIND", "single:1"}}));
  EXPECT_FALSE(find_gpu_binding({{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_GPU_BIND", "none"}}));
}

const std::vector<checkpoint::TensorStretch> kPieces{{.name = "a", .shape = {4}, .end = 4}};

checkpoint::SnapshotPlace place_of(const gangway::testing::SharedFolder& folder,
                                   const std::filesystem::path& run) {
  return {.folder = folder.path(), .run_directory = run, .job_fingerprint = "job"};
}

TEST(CleanSnapshots, RemovesThoseOfRunsThatAreOverAndTellsOfTheOthers) {
  const gangway::testing::SharedFolder folder;
  EXPECT_EQ(clean_snapshots(folder.path()).front().health, Health::kGood);
  const checkpoint::SnapshotMemory used(place_of(folder, folder.path()), kPieces);
  { const checkpoint::SnapshotMemory left(place_of(folder, folder.path() / "gone"), kPieces); }
  const auto findings = clean_snapshots(folder.path());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].health, Health::kNote);
  EXPECT_THAT(findings[0].detail, HasSubstr("removed 2 of runs that are over"));
  EXPECT_THAT(findings[1].detail,
              AllOf(HasSubstr(folder.path().string()), HasSubstr("in use by a living process")));
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
  const auto findings = clean_snapshots(folder.path());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].detail,
              AllOf(HasSubstr("up to step 480, 0.0 MiB"), HasSubstr("kept for another 7 days"),
                    HasSubstr("gangway snapshots rm '" + run.string() + "'")));
}

TEST(FindOthersMemory, TellsLibrariesApartAndTheUsedFromTheLeft) {
  const gangway::testing::SharedFolder folder;
  EXPECT_TRUE(find_others_memory(folder.path()).empty());
  for (const char* name :
       {"vader_segment.node.0.1.0", "vader_segment.node.0.1.1", "nccl-x1", "mine"}) {
    folder.leave_behind(name);
  }
  const FileDescriptor file(::open((folder.path() / "vader_segment.node.0.1.1").c_str(), O_RDONLY));
  const MappedMemory used(
      {::mmap(nullptr, 4, PROT_READ, MAP_SHARED, file.get(), 0), std::size_t{4}});
  const auto findings = find_others_memory(folder.path());
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].detail, StartsWith("NCCL: 1 of "));
  EXPECT_EQ(findings[0].health, Health::kNote);
  EXPECT_THAT(findings[1].detail,
              AllOf(StartsWith("Open MPI: 1 of "), HasSubstr(" in use ("),
                    EndsWith("rm -- " + (folder.path() / "vader_segment.node.0.1.0").string())));
}

TEST(FindOthersMemory, NamesTheFirstFewOfMany) {
  const gangway::testing::SharedFolder folder;
  for (int i = 0; i < 5; ++i) {
    folder.leave_behind("sem." + std::to_string(i));
  }
  EXPECT_THAT(find_others_memory(folder.path()).front().detail, EndsWith("sem.2 and 2 more"));
}

}  // namespace
}  // namespace gangway::launch
