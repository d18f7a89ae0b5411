// SPDX-License-Identifier: MIT
#include "coordinator/trouble/early_memory_check.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
std::string rung() { return "layout.stages=2 and 2 workers"; }

/// Of a host with 100 GiB.
EarlyMemoryCheck::MemoryReport worker_on(const std::string& host, std::uint64_t used,
                                         std::uint64_t resident, std::uint64_t peak) {
  return {.host = host,
          .figures = {.resident_bytes = resident * kGiB,
                      .peak_bytes = peak * kGiB,
                      .used_bytes = used * kGiB,
                      .limit_bytes = 100 * kGiB,
                      .limit = "host"}};
}

TEST(EarlyMemoryCheck, WarnsOnceOfWorkersThatDoNotFitAtTheirPeaksTogether) {
  EarlyMemoryCheck memory;
  memory.tell(Rank(1), worker_on("a", 80, 20, 26));
  memory.tell(Rank(2), worker_on("a", 80, 20, 26));
  EXPECT_EQ(memory.look(2, rung), "") << "too early";
  EXPECT_EQ(memory.look(3, rung),
            "warn  memory peak 92 % of the limit 100.0 GiB (host of a) after 3 steps: "
            "layout.stages=2 and 2 workers (docs/memory.md)");
  EXPECT_EQ(memory.look(4, rung), "");
}

TEST(EarlyMemoryCheck, IsSilentWhereTheyFit) {
  EarlyMemoryCheck memory;
  memory.tell(Rank(1), worker_on("a", 80, 20, 26));
  memory.tell(Rank(2), worker_on("b", 80, 20, 26));
  EXPECT_EQ(memory.look(3, rung), "") << "each host has room for its own";
  memory.tell(Rank(2), worker_on("b", 95, 20, 20));
  memory.end();
  EXPECT_EQ(memory.look(4, rung), "") << "ticks tell by now";
}

TEST(EarlyMemoryCheck, SeesAWorkerThatNeedsMoreLater) {
  EarlyMemoryCheck memory;
  memory.tell(Rank(1), worker_on("a", 80, 20, 26));
  EXPECT_EQ(memory.look(3, rung), "");
  memory.tell(Rank(1), worker_on("a", 88, 20, 26));
  EXPECT_THAT(memory.look(4, rung), HasSubstr("94 %"));
}

TEST(EarlyMemoryCheck, CountsOfAGpuWhatItsOwnWorkerTakes) {
  EarlyMemoryCheck memory;
  EarlyMemoryCheck::MemoryReport on_gpu{.host = "a",
                                        .figures = {.resident_bytes = 4 * kGiB,
                                                    .reserved_bytes = 10 * kGiB,
                                                    .peak_bytes = 30 * kGiB,
                                                    .used_bytes = 60 * kGiB,
                                                    .limit_bytes = 100 * kGiB,
                                                    .limit = "host"},
                                        .computes_on_gpu = true};
  memory.tell(Rank(1), on_gpu);
  memory.tell(Rank(2), on_gpu);
  EXPECT_EQ(memory.look(3, rung), "") << "their peaks are not the host's";
  on_gpu.figures.limit = "GPU";
  on_gpu.figures.used_bytes = 75 * kGiB;
  memory.tell(Rank(2), on_gpu);
  EXPECT_THAT(memory.look(4, rung), HasSubstr("95 % of the limit 100.0 GiB (GPU of a)"));
}

TEST(EarlyMemoryCheck, IsSilentWhereNobodyKnowsALimit) {
  EarlyMemoryCheck memory;
  memory.tell(Rank(1), {.host = "a", .figures = {.peak_bytes = 5, .used_bytes = 4}});
  EXPECT_EQ(memory.look(3, rung), "");
}

}  // namespace
}  // namespace gangway::coordinator
