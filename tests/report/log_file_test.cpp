// SPDX-License-Identifier: MIT
#include "report/log_file.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "report/line_limit.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

using gangway::testing::ScratchFolder;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(LogFile, WritesEachMessageAtOnceAndAppendsOnARestart) {
  const ScratchFolder folder;
  const auto logger = open_log_file(folder.path(), Rank(3));
  logger->info("step {} done", 7);
  EXPECT_THAT(folder.read("logs/rank-0003.log"),
              ContainsRegex("\\[rank 3\\] .*info: step 7 done\n$"));
  open_log_file(folder.path(), Rank(3))->error("again");
  const std::string text = folder.read("logs/rank-0003.log");
  EXPECT_THAT(text, HasSubstr("step 7 done"));
  EXPECT_THAT(text, HasSubstr("error: again"));
}

TEST(LogFile, BeginsAnewWhereItIsFullAndKeepsTheOneBefore) {
  const ScratchFolder folder;
  open_log_file(folder.path(), Rank(3))->info("of the first start");
  std::filesystem::resize_file(folder.path() / "logs/rank-0003.log", kMostLogBytes);  // a hole
  const auto logger = open_log_file(folder.path(), Rank(3));
  logger->info("one more");
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "logs/rank-0003.1.log"), kMostLogBytes);
  EXPECT_THAT(folder.read("logs/rank-0003.log"), ContainsRegex("^[^\n]*info: one more\n$"));
}

TEST(LineLimit, TakesABurstAndThenSoManyASecondAndCountsTheOthers) {
  LineLimit limit;
  LineLimit::TimePoint now{std::chrono::hours(1)};
  const auto taken_of = [&](int lines) {
    int taken = 0;
    for (int i = 0; i < lines; ++i) {
      taken += limit.take(now) ? 1 : 0;
    }
    return taken;
  };
  EXPECT_EQ(taken_of(1500), 1000);
  now += std::chrono::seconds(1);
  EXPECT_EQ(limit.take(now), 500) << "left out";
  EXPECT_EQ(taken_of(1000), 99);
  now += std::chrono::seconds(1);
  EXPECT_EQ(limit.take(now), 901);
  EXPECT_EQ(limit.take(now), 0);
}

TEST(LogFile, NamesAPathThatCannotBeWritten) {
  const ScratchFolder folder;
  folder.write("logs", "a file where the folder should be");
  try {
    (void)open_log_file(folder.path(), Rank(0));
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("logs/rank-0000.log: log file cannot be opened"));
  }
}

}  // namespace
}  // namespace gangway::report
