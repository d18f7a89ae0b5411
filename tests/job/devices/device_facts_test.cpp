// SPDX-License-Identifier: MIT
#include "job/devices/device_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

const std::filesystem::path kFolder = GANGWAY_DEVICES;

std::string kind_of(const std::string& name) { return facts_of_gpu(kFolder, {.name = name}).name; }

DeviceFacts processor_with(const std::vector<std::string>& flags) {
  return facts_of_processor(kFolder / "processors", {.flags = flags});
}

TEST(DeviceFacts, KnowsGpusByWordsOfTheirDriversNames) {
  EXPECT_EQ(kind_of("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(kind_of("NVIDIA H200"), "h200");
  EXPECT_EQ(kind_of("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(kind_of("NVIDIA GeForce RTX 4090"), "rtx-4090");
  EXPECT_EQ(kind_of("NVIDIA RTX A1000"), "NVIDIA RTX A1000") << "no A100";
  EXPECT_EQ(kind_of(""), "a GPU");
}

TEST(DeviceFacts, OfAnUnknownGpuFollowItsCapability) {
  const DeviceFacts old = facts_of_gpu(kFolder, {.name = "Tesla T4", .multiplies_bf16 = false});
  EXPECT_EQ(old.precision, Precision::kFp32);
  EXPECT_EQ(facts_of_gpu(kFolder, {.name = "NVIDIA B200"}).precision, Precision::kBf16);
  EXPECT_THAT(old.contiguous, ::testing::ElementsAre(Precision::kFp32));
  EXPECT_EQ(old.nccl_ctas, 0) << "as comm/nccl has it";
}

TEST(DeviceFacts, OfProcessorsFollowTheirFlags) {
  EXPECT_EQ(processor_with({"fpu", "avx512_bf16"}).precision, Precision::kBf16);
  EXPECT_EQ(processor_with({"avx512_bf16", "amx_tile", "amx_bf16"}).name,
            "this processor (amx_bf16)");
  EXPECT_EQ(processor_with({"avx512f", "avx512_bf16x"}).precision, Precision::kFp32);
  EXPECT_EQ(processor_with({}).name, "this processor");
}

TEST(DeviceFacts, AreReadOfAFileOrRefusedWithTheirLine) {
  const testing::ScratchFolder folder;
  folder.write("good.yaml",
               "gpu: B200\nspeed: 200\nmemory: 180GiB\nlaunch: 4us\nprecision: bf16\n"
               "contiguous: [fp32, tf32]\ncuda_graph: branches\nnccl_ctas: 24\nbucket: 32MiB\n");
  const DeviceFacts facts = read_device(folder.path(), "good");
  EXPECT_EQ(facts.memory_bytes, std::int64_t{180} << 30);
  EXPECT_THAT(facts.contiguous, ::testing::ElementsAre(Precision::kFp32, Precision::kTf32));
  EXPECT_EQ(facts.cuda_graph, GraphChoice::kBranches);
  EXPECT_EQ(facts.nccl_ctas, 24);
  EXPECT_EQ(facts.bucket_bytes, 32 << 20);
  EXPECT_EQ(facts_of_gpu(folder.path(), {.name = "NVIDIA B200"}), facts);
  for (const char* wrong : {"speed: fast", "speeed: 3", "contiguous: fp32", "contiguous: [fp33]",
                            "precision: int8", "nccl_ctas: 0"}) {
    folder.write("wrong.yaml", std::string("gpu: X\n") + wrong + "\n");
    try {
      (void)read_device(folder.path(), "wrong");
      ADD_FAILURE() << wrong;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("wrong.yaml:2: ")) << wrong;
    }
  }
}

}  // namespace
}  // namespace gangway
