// SPDX-License-Identifier: MIT
#include "base/system/usable_cores.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

TEST(UsableCores, AreAsManyAsTheSmallestQuotaAllows) {
  const testing::ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "jobs/one");
  folder.write("jobs/one/cpu.max", "max 100000\n");
  folder.write("jobs/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota_cores(folder.path(), "0::/jobs/one\n"), 3);
  folder.write("jobs/one/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota_cores(folder.path(), "0::/jobs/one\n"), 2);
}

TEST(UsableCores, OfTheFirstVersionHaveAQuotaInTheGroupOfTheCpuAlone) {
  const testing::ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "cpu/one");
  folder.write("cpu/one/cpu.cfs_quota_us", "200000\n");
  folder.write("cpu/one/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota_cores(folder.path(), "3:memory:/one\n2:cpu,cpuacct:/one\n"), 2);
  EXPECT_EQ(quota_cores(folder.path(), "3:memory:/one\n"), 0);
}

TEST(UsableCores, AreAnyNumberWithoutAQuota) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(quota_cores(folder.path(), "0::/\n"), 0);
  EXPECT_EQ(quota_cores(folder.path(), "garbage"), 0);
  EXPECT_GE(usable_cores(), 1);
}

TEST(ReadingThreads, AreThoseThatAreLeftAndAtLeastOne) {
  EXPECT_EQ(reading_threads(1, usable_cores()), 1);
  EXPECT_EQ(reading_threads(1, -100), 8);
}

}  // namespace
}  // namespace gangway
