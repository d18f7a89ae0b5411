// SPDX-License-Identifier: MIT
#include "launch/doctor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/shared_segment.hpp"
#include "checkpoint/snapshots/snapshot_memory.hpp"
#include "launch/hosts/gpus.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

// As nvidia-smi 580 answers.
constexpr const char* kTwoGpus =
    "NVIDIA H100 80GB HBM3, 81559, 580.65.06, 9.0, Enabled, 0\n"
    "NVIDIA H100 80GB HBM3, 81559, 580.65.06, 9.0, Enabled, 3\n";

std::string all_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{} {}: {}\n", finding.item, health_name(finding.health), finding.detail);
  }
  return text;
}

TEST(ParseGpus, ReadsALineAGpuAndPassesOverTheRest) {
  const std::vector<Gpu> gpus =
      parse_gpus(std::string("warning, of something\n") + kTwoGpus +
                 "NVIDIA GeForce RTX 4090, 24564, 580.65.06, 8.9, [N/A], [N/A]\n");
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[1].name, "NVIDIA H100 80GB HBM3");
  EXPECT_NEAR(gpus[1].memory_gib, 79.6, 0.1);
  EXPECT_EQ(gpus[1].memory_faults, 3);
  EXPECT_FALSE(gpus[2].memory_faults);
  EXPECT_TRUE(parse_gpus("NVIDIA-SMI has failed because it couldn't communicate\n").empty());
}

TEST(JudgeGpus, NamesAnOldDriverFaultsOfMemoryAndUnlikeKinds) {
  std::vector<Gpu> gpus = parse_gpus(kTwoGpus);
  EXPECT_THAT(all_of(judge_gpus(gpus, "13.0.88")),
              AllOf(HasSubstr("GPUs good: 2 x NVIDIA H100 80GB HBM3, 80 GiB"),
                    HasSubstr("NVIDIA driver good: 580.65.06"),
                    HasSubstr("memory of GPUs bad: GPU 1 had 3 errors")));
  gpus[0].driver = "535.183.01";
  gpus[1] = {.name = "Tesla V100", .driver = "535.183.01", .capability = "7.0", .ecc = "Disabled"};
  EXPECT_THAT(all_of(judge_gpus(gpus, "13.0.88")),
              AllOf(HasSubstr("GPUs note: NVIDIA H100 80GB HBM3 and Tesla V100"),
                    HasSubstr("NVIDIA driver bad: 535.183.01 is older than CUDA 13 needs: install "
                              "580 or newer"),
                    HasSubstr("memory of GPUs note: GPU 1 has ECC turned off")));
  EXPECT_THAT(all_of(judge_gpus({gpus[1]}, "12.8.1")),
              HasSubstr("NVIDIA driver note: Tesla V100 is of compute capability 7.0"));
}

constexpr const char* kLinks =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tSYS\tPIX\t0-55\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tSYS\t0-55\t0\t\tN/A\n"
    "GPU2\tSYS\tNV18\t X \tSYS\t56-111\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n";
constexpr const char* kPeers =
    " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tOK\t\n GPU1\tOK\tX\tOK\t\n GPU2\tOK\tOK\tX\t\n\n"
    "Legend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n";

std::string replaced_in(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Finding links_of(const std::string& links, const std::string& peers = kPeers) {
  return judge_gpu_links(parse_topology(links), parse_topology(peers)).value();
}

TEST(JudgeGpuLinks, TellsNvlinkBetweenAllSomeAndNone) {
  const Finding some = links_of(kLinks);
  EXPECT_EQ(some.health, Health::kNote);
  EXPECT_THAT(some.detail, HasSubstr("(NV18, SYS): GPU 0 and GPU 2 have SYS"));
  const Finding all = links_of(replaced_in(kLinks, "SYS", "NV18"));
  EXPECT_EQ(all.health, Health::kGood);
  EXPECT_EQ(all.detail, "NVLink between all (NV18)");
  const Finding none = links_of(replaced_in(kLinks, "NV18", "PHB"));
  EXPECT_EQ(none.health, Health::kGood);
  EXPECT_EQ(none.detail, "no NVLink; over PCIe (PHB, SYS)");
  EXPECT_FALSE(judge_gpu_links({}, {}));
}

TEST(JudgeGpuLinks, NamesTheFirstPairWithoutPeerAccess) {
  const Finding finding =
      links_of(replaced_in(kLinks, "NV18", "PHB"), replaced_in(kPeers, "X\tOK\tOK", "X\tOK\tCNS"));
  EXPECT_EQ(finding.health, Health::kNote);
  EXPECT_THAT(finding.detail, HasSubstr("GPU 0 and GPU 2 cannot reach each other's memory (CNS)"));
}

TEST(JudgeNccl, DoubtsWhatIsSlowOverNvlinkAlone) {
  EXPECT_EQ(judge_nccl(8, 7.25, true).health, Health::kNote);
  EXPECT_EQ(judge_nccl(8, 7.25, false).health, Health::kGood);
  EXPECT_EQ(judge_nccl(8, 350.0, true).detail, "all-reduce on 8 GPUs: 350.0 GB/s");
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

}  // namespace
}  // namespace gangway::launch
