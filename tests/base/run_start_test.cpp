// SPDX-License-Identifier: MIT
#include "run/run_start.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using gangway::testing::ScratchFolder;

TEST(RunStart, CountsTheStartsAndKeepsTheName) {
  const ScratchFolder folder;
  EXPECT_EQ(read_run_start(folder.path()), std::nullopt);
  EXPECT_EQ(run_id_of(folder.path()), "");
  const RunStart first = begin_run_start(folder.path());
  EXPECT_THAT(first.run_id, ::testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(first.incarnation, 1);
  EXPECT_EQ(read_run_start(folder.path()), first);
  const RunStart second = begin_run_start(folder.path());
  EXPECT_EQ(second.run_id, first.run_id);
  EXPECT_EQ(second.incarnation, 2);
  EXPECT_EQ(run_id_of(folder.path()), first.run_id);
}

TEST(RunStart, NamesNoTwoRunsAlike) {
  const ScratchFolder one;
  const ScratchFolder other;
  EXPECT_NE(begin_run_start(one.path()).run_id, begin_run_start(other.path()).run_id);
}

TEST(RunStart, GivesARunWithADamagedFileANewName) {
  const ScratchFolder folder;
  const RunStart before = begin_run_start(folder.path());
  for (const char* text : {"", "{", "[]", R"({"run_id": 3, "incarnation": 3})",
                           R"({"run_id": "abc", "incarnation": 3})",
                           R"({"run_id": "0123456789abcdef0123456789abcdef", "incarnation": 0})"}) {
    std::ofstream(folder.path() / kRunStartFile) << text;
    EXPECT_EQ(read_run_start(folder.path()), std::nullopt) << text;
    const RunStart after = begin_run_start(folder.path());
    EXPECT_NE(after.run_id, before.run_id) << text;
    EXPECT_EQ(after.incarnation, 1) << text;
  }
}

}  // namespace
}  // namespace gangway
