// SPDX-License-Identifier: MIT
#include "report/stats_file.hpp"

#include <algorithm>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::report {
namespace {

using gangway::testing::ScratchFolder;

std::string lines(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    text += tick_json({.index = i, .step = 10 * i, .seconds_total = 1.5 * i}) + "\n";
  }
  return text;
}

TEST(StatsFile, HoldsOneLineATickAtOnce) {
  const ScratchFolder folder;
  StatsFile file(folder.path() / "stats.jsonl", 0);
  EXPECT_FALSE(file.last_kept().has_value());
  file.append({.index = 1, .step = 10, .seconds_total = 1.5});
  EXPECT_EQ(folder.read("stats.jsonl"), lines(1));
  file.append({.index = 2, .step = 20, .seconds_total = 3});
  EXPECT_EQ(folder.read("stats.jsonl"), lines(2));
}

TEST(StatsFile, DropsLinesBeyondTheResumedStep) {
  const ScratchFolder folder;
  const auto path = folder.write("stats.jsonl", lines(5));
  StatsFile file(path, 35);
  EXPECT_EQ(folder.read("stats.jsonl"), lines(3));
  ASSERT_TRUE(file.last_kept().has_value());
  EXPECT_EQ(file.last_kept()->index, 3);
  EXPECT_EQ(file.last_kept()->seconds_total, 4.5);
  file.append({.index = 4, .step = 40, .seconds_total = 6});
  EXPECT_EQ(folder.read("stats.jsonl"), lines(4));
}

TEST(StatsFile, KeepsScoresOfStepsThatStay) {
  const ScratchFolder folder;
  const auto path = folder.path() / "stats.jsonl";
  {
    StatsFile file(path, 0);
    file.append({.index = 1, .step = 10, .seconds_total = 1.5});
    file.append(StatsScores{.step = 8, .kimg = 0.5, .scores = {{"SWD", 2.5}, {"recall", 0.25}}});
    file.append(StatsScores{.step = 12, .kimg = 0.75, .scores = {{"SWD", 2.0}}});
    file.append({.index = 2, .step = 20, .seconds_total = 3});
  }
  const StatsFile again(path, 11);
  EXPECT_EQ(folder.read("stats.jsonl"),
            lines(1) + "{\"step\":8,\"kimg\":0.5,\"scores\":{\"SWD\":2.5,\"recall\":0.25}}\n");
  ASSERT_TRUE(again.last_kept().has_value());
  EXPECT_EQ(again.last_kept()->index, 1);
}

TEST(StatsFile, LosesNoLineBehindOneThatCannotBeRead) {
  const ScratchFolder folder;
  const std::string whole = lines(3);
  const std::size_t second = whole.find('\n') + 1;
  const std::string torn = whole.substr(0, second) + "{\"tic{\"tick\":2}\n" + whole.substr(second);
  const StatsFile file(folder.write("stats.jsonl", torn), 1000);
  EXPECT_EQ(folder.read("stats.jsonl"), torn);
  EXPECT_EQ(file.last_kept()->index, 3);
}

TEST(StatsFile, LeavesNoHalfLineOnAFullDisk) {
  const ScratchFolder folder;
  StatsFile file(folder.path() / "stats.jsonl", 0);
  file.append({.index = 1, .step = 10, .seconds_total = 1.5});
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit full { .rlim_cur = lines(1).size() + 9, .rlim_max = before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  EXPECT_THROW(file.append({.index = 2, .step = 20, .seconds_total = 3}), EnvironmentError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(folder.read("stats.jsonl"), lines(1));
  file.append({.index = 2, .step = 20, .seconds_total = 3});
  EXPECT_EQ(folder.read("stats.jsonl"), lines(2));
}

TEST(StatsFile, StartsAnewForAFreshRun) {
  const ScratchFolder folder;
  const StatsFile file(folder.write("stats.jsonl", lines(5)), 0);
  EXPECT_EQ(folder.read("stats.jsonl"), "");
}

TEST(StatsFile, CutsOffWhatACrashLeftDamaged) {
  const ScratchFolder folder;
  const std::string whole = lines(3);
  for (const std::string& rest :
       {whole.substr(0, 40), std::string("no JSON\n") + whole, std::string("{\"step\": 1}\n"),
        std::string("[1]\n"), whole.substr(0, whole.find('\n'))}) {
    const StatsFile file(folder.write("stats.jsonl", whole + rest), 1000);
    EXPECT_EQ(folder.read("stats.jsonl"), whole);
  }
}

TEST(StatsFile, NamesAPathThatCannotBeWritten) {
  try {
    const StatsFile file("/nowhere/stats.jsonl", 0);
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/stats.jsonl: cannot be opened"),
              std::string::npos);
  }
}

TEST(UniqueFile, SaysThatTheDiskIsFull) {
  const UniqueFile file = open_to_append("/dev/full");
  EXPECT_THROW(append_bytes(file.get(), "/dev/full", "{}\n"), EnvironmentError);
}

}  // namespace
}  // namespace gangway::report
