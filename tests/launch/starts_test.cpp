// SPDX-License-Identifier: MIT
#include "launch/run/starts.hpp"

#include <gtest/gtest.h>

namespace gangway::launch {
namespace {

TEST(ResumeLine, IsWhatWasTyped) {
  EXPECT_EQ(resume_line({"gangway", "run", "a b.yaml", "--run", "x"}, "00000-x"),
            "gangway run 'a b.yaml' --run x");
}

TEST(ResumeLine, NamesTheNewRunWhereTheCommandWouldMakeAnother) {
  EXPECT_EQ(resume_line({"gangway", "run", "j.yaml", "--resume", "never"}, "00007-j"),
            "gangway run j.yaml --resume auto --run 00007-j");
  EXPECT_EQ(resume_line({"gangway", "run", "--resume=never", "j.yaml"}, "00007-j"),
            "gangway run --resume=auto j.yaml --run 00007-j");
}

TEST(ResumeLine, DoesNotGoBackToTheCheckpointThatTheRunBeganWith) {
  EXPECT_EQ(resume_line({"gangway", "run", "j.yaml", "--resume", "runs/00001-a"}, "00007-j"),
            "gangway run j.yaml --resume auto --run 00007-j");
  EXPECT_EQ(resume_line({"gangway", "run", "--resume=runs/00001-a", "j.yaml"}, "00007-j"),
            "gangway run --resume=auto j.yaml --run 00007-j");
  EXPECT_EQ(resume_line({"gangway", "run", "j.yaml", "--resume", "must"}, "00007-j"),
            "gangway run j.yaml --resume must");
}

}  // namespace
}  // namespace gangway::launch
