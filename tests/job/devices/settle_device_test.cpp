// SPDX-License-Identifier: MIT
#include "job/devices/settle_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::spec_of;

DeviceFacts processor(Precision precision) {
  return {.name = "this processor", .precision = precision};
}

DeviceFacts gpu() {
  return {.name = "h100",
          .precision = Precision::kBf16,
          .contiguous = {Precision::kFp32},
          .nccl_ctas = 16,
          .bucket_bytes = 1 << 20};
}

TEST(SettleNumbers, ReplacesAutoAloneAndSaysSo) {
  JobSpec job = spec_of("", {"numerics.precision={generator: auto, discriminator: fp16}"});
  EXPECT_TRUE(has_open_numbers(job));
  EXPECT_THAT(
      settle_numbers(job, std::nullopt, processor(Precision::kBf16)),
      ElementsAre("numerics.precision auto: generator bf16 (this processor multiplies bf16)"));
  EXPECT_EQ(job.network("generator").precision, Precision::kBf16);
  EXPECT_EQ(job.network("discriminator").precision, Precision::kFp16);
  EXPECT_FALSE(has_open_numbers(job));
  EXPECT_THAT(settle_numbers(job, std::nullopt, processor(Precision::kFp32)), IsEmpty());
}

TEST(SettleNumbers, KeepsWhatARunWasBegunWith) {
  const JobSpec before = spec_of("", {"numerics.precision={generator: bf16}"});
  JobSpec job = spec_of("", {"numerics.precision=auto", "numerics.memory_format=auto"});
  EXPECT_THAT(
      settle_numbers(job, before, processor(Precision::kFp16)),
      ElementsAre("numerics.precision auto: generator bf16, discriminator fp32 (as when "
                  "the run was begun)",
                  "numerics.memory_format auto: channels-last (as when the run was begun)"));
  EXPECT_EQ(job, before);
}

TEST(SettleNumbers, IsReadBackOfAJobFile) {
  const testing::ScratchFolder folder;
  JobSpec job = spec_of("", {"numerics.precision=auto"});
  EXPECT_NE(to_yaml(job).find("precision: auto"), std::string::npos);
  EXPECT_THAT(settle_numbers(job, std::nullopt, processor(Precision::kBf16)), ::testing::SizeIs(1));
  const auto file = folder.write("job.yaml", to_yaml(job));
  EXPECT_EQ(job_in(file), job);
  EXPECT_EQ(job_in(folder.path() / "nothing.yaml"), std::nullopt);
}

TEST(SettleNumbers, LetsTheMemoryFormatFollowThePrecisionOfTheDevice) {
  const auto format = [](std::vector<std::string> keys, const DeviceFacts& device) {
    JobSpec job = spec_of("", std::move(keys));
    EXPECT_TRUE(has_open_numbers(job));
    (void)settle_numbers(job, std::nullopt, device);
    return job.numerics.memory_format;
  };
  DeviceFacts old = gpu();
  old.precision = Precision::kFp32;
  using enum MemoryFormat;
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.precision=auto"}, gpu()), kChannelsLast);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.precision=auto"}, old), kContiguous);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.memory_format=auto"}, gpu()), kContiguous);
  EXPECT_EQ(format({"numerics.device=cuda", "numerics.memory_format=auto",
                    "numerics.precision={generator: tf32}"},
                   gpu()),
            kChannelsLast);
  EXPECT_EQ(format({"numerics.memory_format=auto"}, processor(Precision::kFp32)), kChannelsLast);
}

TEST(SettleLayout, GivesAutoKeysTheGpusValuesAndSaysSo) {
  JobSpec job = spec_of("", {"numerics.device=cuda"});
  EXPECT_THAT(settle_layout(job, 2, gpu()),
              ElementsAre("layout.nccl_ctas auto: 16 (h100)",
                          "layout.buckets auto: 4 (h100, 1 MiB a bucket at least)"));
  EXPECT_EQ(job.layout.nccl_ctas, 16);
  EXPECT_EQ(job.layout.buckets, 4);
  EXPECT_EQ(job.layout.cuda_graph, GraphChoice::kAuto);
  EXPECT_THAT(settle_layout(job, 2, gpu()), IsEmpty()) << "nothing is open now";
}

TEST(SettleLayout, LeavesWhatTheJobGivesAndWhatHasNoUse) {
  JobSpec given = spec_of("", {"numerics.device=cuda", "layout.nccl_ctas=4", "layout.buckets=2"});
  EXPECT_THAT(settle_layout(given, 2, gpu()), IsEmpty());
  JobSpec alone = spec_of("", {"numerics.device=cuda"});
  EXPECT_THAT(settle_layout(alone, 1, gpu()), IsEmpty()) << "nothing is exchanged";
  JobSpec cpu = spec_of("");
  EXPECT_THAT(settle_layout(cpu, 2, gpu()), IsEmpty());
}

TEST(SettleLayout, TakesTheGpusGraphModeWhereStepsCanBeRecorded) {
  DeviceFacts device = gpu();
  device.cuda_graph = GraphChoice::kBranches;
  JobSpec job = spec_of("", {"numerics.device=cuda"});
  EXPECT_THAT(settle_layout(job, 1, device),
              ElementsAre("numerics.cuda_graph auto: branches (h100)"));
  EXPECT_EQ(job.layout.cuda_graph, GraphChoice::kBranches);
  JobSpec scaled = spec_of("", {"numerics.device=cuda", "numerics.precision=fp16"});
  EXPECT_THAT(settle_layout(scaled, 1, device), IsEmpty()) << "the host chooses the loss scale";
  JobSpec off = spec_of("", {"numerics.device=cuda", "numerics.cuda_graph=off"});
  EXPECT_THAT(settle_layout(off, 1, device), IsEmpty());
}

}  // namespace
}  // namespace gangway
