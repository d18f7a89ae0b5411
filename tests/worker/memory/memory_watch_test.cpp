// SPDX-License-Identifier: MIT
#include "worker/memory/memory_watch.hpp"

#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "job/spec.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::worker {
namespace {

constexpr std::uint64_t kMebibyte = 1U << 20U;

TEST(MemoryWatch, TellsTheHeapOfAWorkerOnACpu) {
  const JobSpec job;
  const CpuDevice device(job);
  const at::Tensor before = at::zeros({1});
  const messages::MemoryFigures empty = MemoryWatch(device, {}).now();
  const at::Tensor large = at::ones({std::int64_t{16} << 20U});  // 64 MiB
  const messages::MemoryFigures full = MemoryWatch(device, {}).now();
  EXPECT_NEAR(static_cast<double>(full.allocated_bytes - empty.allocated_bytes), 64.0 * kMebibyte,
              8.0 * kMebibyte);
  EXPECT_GE(full.reserved_bytes, full.allocated_bytes);
  EXPECT_GE(full.peak_bytes + 8 * kMebibyte, full.resident_bytes);
  EXPECT_GE(full.resident_bytes, empty.resident_bytes + 32 * kMebibyte);
  EXPECT_GT(full.limit_bytes, full.used_bytes);
  EXPECT_FALSE(full.limit.empty());
  EXPECT_EQ(full.retries, 0U);
}

TEST(MemoryWatch, ReadsRarely) {
  const JobSpec job;
  const CpuDevice device(job);
  MemoryWatch watch(device, {});
  const std::uint64_t first = watch.now().allocated_bytes;
  const at::Tensor large = at::ones({std::int64_t{16} << 20U});
  EXPECT_EQ(watch.now().allocated_bytes, first) << "half a second later at the earliest";
}

TEST(MemoryWatch, CountsPeriodsOfTheQuotaSinceItBegan) {
  const testing::ScratchFolder folder;
  // Two paths, for control groups of both versions. Every group of this process lies below them.
  std::filesystem::create_directories(folder.path() / "cpu");
  const auto write = [&](const char* counts) {
    folder.write("cpu.stat", counts);
    folder.write("cpu/cpu.stat", counts);
  };
  const JobSpec job;
  const CpuDevice device(job);
  write("nr_periods 100\nnr_throttled 50\n");
  MemoryWatch watch(device, {.groups = folder.path()});
  write("nr_periods 120\nnr_throttled 60\n");
  (void)watch.now();
  messages::StepFigures figures;
  watch.tell_quota(figures);
  EXPECT_EQ(figures.quota_periods, 20U);
  EXPECT_EQ(figures.throttled_periods, 10U);
  watch.tell_quota(figures);
  EXPECT_EQ(figures.throttled_periods, 10U) << "told once";
}

}  // namespace
}  // namespace gangway::worker
