// SPDX-License-Identifier: MIT
#include "base/system/control_groups.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kMeminfo = "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\n";

TEST(ControlGroups, AreTheOwnAndThoseAboveItInBothVersions) {
  EXPECT_THAT(control_groups("/g", "0::/jobs/one\n", "cpu"),
              ElementsAre("/g/jobs/one", "/g/jobs", "/g/"));
  EXPECT_THAT(control_groups("/g", "3:memory:/a\n2:cpu,cpuacct:/b\n", "cpu"),
              ElementsAre("/g/cpu/b", "/g/cpu/"));
  EXPECT_THAT(control_groups("/g", "3:memory:/a\n2:cpu,cpuacct:/b\n", "memory"),
              ElementsAre("/g/memory/a", "/g/memory/"));
  EXPECT_THAT(control_groups("/g", "garbage", "cpu"), IsEmpty());
}

TEST(ControlGroups, TellWhoseQuotaIsUsedUpMost) {
  const testing::ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "jobs/one");
  const auto groups = control_groups(folder.path(), "0::/jobs/one\n", "cpu");
  EXPECT_EQ(quota_periods(groups).all, 0U);
  folder.write("jobs/one/cpu.stat", "usage_usec 7\nnr_periods 10\nnr_throttled 2\n");
  folder.write("jobs/cpu.stat", "usage_usec 7\nnr_periods 30\nnr_throttled 20\nnr_bursts 0\n");
  EXPECT_EQ(quota_periods(groups).all, 30U);
  EXPECT_EQ(quota_periods(groups).throttled, 20U);
}

TEST(ControlGroups, LimitMemoryWhereThatIsNarrowerThanTheHost) {
  const testing::ScratchFolder folder;
  folder.write("meminfo", kMeminfo);
  const auto meminfo = folder.path() / "meminfo";
  const auto groups = control_groups(folder.path(), "0::/\n", "memory");
  folder.write("memory.max", "max\n");
  EXPECT_EQ(narrowest_limit(groups, meminfo).of, "host");
  EXPECT_DOUBLE_EQ(narrowest_limit(groups, meminfo).share(), 0.4);
  folder.write("memory.max", "1000\n");
  folder.write("memory.current", "950\n");
  folder.write("memory.stat", "anon 500\ninactive_file 100\nactive_file 150\nshmem 200\n");
  const MemoryLimit limit = narrowest_limit(groups, meminfo);
  EXPECT_EQ(limit.of, "control group");
  EXPECT_EQ(limit.used_bytes, 700U) << "pages of files are given back first";
  EXPECT_EQ(limit.limit_bytes, 1000U);
  folder.write("memory.current", "300\n");
  EXPECT_EQ(narrowest_limit(groups, meminfo).of, "host") << "less than it has is used";
  EXPECT_EQ(smallest_limit(groups, meminfo).limit_bytes, 1000U) << "whatever is used";
  folder.write("memory.max", "2000000\n");
  EXPECT_EQ(smallest_limit(groups, meminfo).of, "host");
}

TEST(ControlGroups, OfTheFirstVersionLimitMemoryToo) {
  const testing::ScratchFolder folder;
  folder.write("meminfo", kMeminfo);
  std::filesystem::create_directories(folder.path() / "memory/one");
  const auto groups = control_groups(folder.path(), "4:memory:/one\n", "memory");
  folder.write("memory/one/memory.limit_in_bytes", "2000\n");
  folder.write("memory/one/memory.usage_in_bytes", "1900\n");
  folder.write("memory/one/memory.stat", "cache 9\ntotal_inactive_file 100\n");
  folder.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  folder.write("memory/memory.usage_in_bytes", "1900\n");
  EXPECT_DOUBLE_EQ(narrowest_limit(groups, folder.path() / "meminfo").share(), 0.9);
  EXPECT_EQ(narrowest_limit({}, "/nowhere").limit_bytes, 0U);
}

}  // namespace
}  // namespace gangway
