// SPDX-License-Identifier: MIT
#include "base/text/shell_word.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(ShellWord, LeavesHarmlessWordsAsTheyAre) {
  EXPECT_EQ(shell_word("layout.transport=shm"), "layout.transport=shm");
  EXPECT_EQ(shell_word("/a/b-c_d.yaml"), "/a/b-c_d.yaml");
}

TEST(ShellWord, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_word("layout.generator=[1]"), "'layout.generator=[1]'");
  EXPECT_EQ(shell_word("~training.kimg"), "'~training.kimg'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace gangway
