// SPDX-License-Identifier: MIT
#include "report/trace_merge.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/trace_steps.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

using gangway::testing::ScratchFolder;

/// One event 1.25 us after rank R's trace began, R us after that of rank 0.
void leave_trace(const ScratchFolder& folder, int rank) {
  std::ofstream(folder.path() / trace_file_of_rank(Rank(rank)))
      << trace_file_head(5'000'000'000'000 + 1000 * rank)
      << "{\"name\":\"sum\",\"ph\":\"X\",\"pid\":" << rank
      << ",\"ts\":1.25},\n{\"name\":\"a,\\\"ts\\\":\",\"ph\":\"M\",\"pid\":" << rank << "}\n]}\n";
}

TEST(MergeTraces, JoinsTheEventsOfAllWorkers) {
  const ScratchFolder folder;
  leave_trace(folder, 1);
  EXPECT_FALSE(is_trace_complete(folder.path(), 2));
  leave_trace(folder, 2);
  EXPECT_TRUE(is_trace_complete(folder.path(), 2));
  EXPECT_EQ(merge_traces(folder.path(), 2), 2);
  const auto merged = nlohmann::json::parse(folder.read("trace.json"));
  ASSERT_EQ(merged["traceEvents"].size(), 4U);
  EXPECT_EQ(merged["traceEvents"][0]["ts"], 1.25);
  EXPECT_EQ(merged["traceEvents"][2]["ts"], 2.25)
      << "on one clock, counted from the first worker's beginning";
  EXPECT_EQ(merged["traceEvents"][0]["pid"], 1);
  EXPECT_EQ(merged["traceEvents"][3]["pid"], 2);
}

TEST(MergeTraces, TakesWhatIsThereAndWritesNothingWhereNothingIs) {
  const ScratchFolder folder;
  EXPECT_EQ(merge_traces(folder.path(), 2), 0);
  EXPECT_EQ(merge_traces(folder.path() / "missing", 2), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "trace.json"));
  leave_trace(folder, 2);
  EXPECT_EQ(merge_traces(folder.path(), 2), 1);
  EXPECT_EQ(nlohmann::json::parse(folder.read("trace.json"))["traceEvents"].size(), 2U);
}

}  // namespace
}  // namespace gangway::report
