// SPDX-License-Identifier: MIT
#include "job/file/settle_precision.hpp"

#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using testing::spec_of;

std::string processor(const std::string& flags) {
  return "processor\t: 0\nmodel name\t: avx512_bf16 by name only\nflags\t\t: fpu " + flags +
         " sse2\nbugs\t\t: amx_bf16\n\n";
}

TEST(SettlePrecision, IsBf16WhereTheProcessorMultipliesIt) {
  EXPECT_EQ(fastest_precision(DeviceKind::kCpu, processor("avx512_bf16")), Precision::kBf16);
  EXPECT_EQ(fastest_precision(DeviceKind::kCpu, processor("amx_tile amx_bf16")), Precision::kBf16);
  EXPECT_EQ(fastest_precision(DeviceKind::kCpu, processor("avx512f avx512_bf16x")),
            Precision::kFp32);
  EXPECT_EQ(fastest_precision(DeviceKind::kCpu, ""), Precision::kFp32);
  EXPECT_EQ(fastest_precision(DeviceKind::kCpu, "flags"), Precision::kFp32);
  EXPECT_EQ(fastest_precision(DeviceKind::kCuda, processor("")), Precision::kBf16);
}

TEST(SettlePrecision, ReplacesAutoAloneAndSaysSo) {
  JobSpec job = spec_of("", {"numerics.precision={generator: auto, discriminator: fp16}"});
  EXPECT_TRUE(has_open_precision(job));
  EXPECT_EQ(settle_precision(job, std::nullopt, Precision::kBf16),
            "numerics.precision auto: generator bf16 (this processor multiplies bf16)");
  EXPECT_EQ(job.network("generator").precision, Precision::kBf16);
  EXPECT_EQ(job.network("discriminator").precision, Precision::kFp16);
  EXPECT_FALSE(has_open_precision(job));
  EXPECT_EQ(settle_precision(job, std::nullopt, Precision::kFp32), "");
}

TEST(SettlePrecision, KeepsWhatARunWasBegunWith) {
  const JobSpec before = spec_of("", {"numerics.precision={generator: bf16}"});
  JobSpec job = spec_of("", {"numerics.precision=auto"});
  EXPECT_EQ(settle_precision(job, before, Precision::kFp16),
            "numerics.precision auto: generator bf16, discriminator fp32 (as when the run was "
            "begun)");
  EXPECT_EQ(job, before);
}

TEST(SettlePrecision, IsReadBackOfAJobFile) {
  const testing::ScratchFolder folder;
  JobSpec job = spec_of("", {"numerics.precision=auto"});
  EXPECT_NE(to_yaml(job).find("precision: auto"), std::string::npos);
  EXPECT_NE(settle_precision(job, std::nullopt), "");
  const auto file = folder.write("job.yaml", to_yaml(job));
  EXPECT_EQ(job_in(file), job);
  EXPECT_EQ(job_in(folder.path() / "nothing.yaml"), std::nullopt);
}

}  // namespace
}  // namespace gangway
