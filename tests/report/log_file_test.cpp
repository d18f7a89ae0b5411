// SPDX-License-Identifier: MIT
#include "report/log_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

using gangway::testing::ScratchFolder;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(LogFile, WritesEachMessageAtOnceAndAppendsOnARestart) {
  const ScratchFolder folder;
  const auto logger = open_log_file(folder.path(), 3);
  logger->info("step {} done", 7);
  EXPECT_THAT(folder.read("logs/rank-0003.log"),
              ContainsRegex("\\[rank 3\\] .*info: step 7 done\n$"));
  open_log_file(folder.path(), 3)->error("again");
  const std::string text = folder.read("logs/rank-0003.log");
  EXPECT_THAT(text, HasSubstr("step 7 done"));
  EXPECT_THAT(text, HasSubstr("error: again"));
}

TEST(LogFile, NamesAPathThatCannotBeWritten) {
  const ScratchFolder folder;
  folder.write("logs", "a file where the folder should be");
  try {
    (void)open_log_file(folder.path(), 0);
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("logs/rank-0000.log: log file cannot be opened"));
  }
}

}  // namespace
}  // namespace gangway::report
