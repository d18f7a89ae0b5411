// SPDX-License-Identifier: MIT
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "pipeline/staged/text.hpp"
#include "tests/pipeline/stage_cases.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::HasSubstr;

TEST(StageText, IsReadBackExactly) {
  for (const StageCase& test : stage_cases()) {
    const Staged staged(test);
    for (const StageList& list : staged.schedule.workers) {
      EXPECT_EQ(list_from_text(text_of(list, staged.names), staged.names, "text"), list)
          << test.name;
    }
  }
}

TEST(StageText, SaysWhatAWorkerDoes) {
  const Staged staged({.name = "apart",
                       .job = JobSpec{},
                       .layout = groups_apart({1, 1}, 1, {1, 1}),
                       .first_step = 3,
                       .num_steps = 1});
  EXPECT_EQ(text_of(staged.schedule.workers[0], staged.names),
            "forward generator.0 step=3 phase=0.0 node=1.1 microbatch=0 version=3\n"
            "send forward generator.0 step=3 phase=0.0 node=1.1 microbatch=0 to=1 bytes=1000\n"
            "free forward generator.0 step=3 phase=0.0 node=1.1 microbatch=0\n"
            "forward generator.0 step=3 phase=1.0 node=0.1 microbatch=0 version=3 keeps\n"
            "send forward generator.0 step=3 phase=1.0 node=0.1 microbatch=0 to=1 bytes=1000\n"
            "free forward generator.0 step=3 phase=1.0 node=0.1 microbatch=0\n"
            "receive input-gradient discriminator.0 step=3 phase=1.0 node=0.2 microbatch=0 from=1 "
            "bytes=1000\n"
            "input-gradient generator.0 step=3 phase=1.0 node=0.1 microbatch=0 version=3\n"
            "free input-gradient discriminator.0 step=3 phase=1.0 node=0.2 microbatch=0 "
            "bytes=1000\n"
            "open-leaf generator.0 step=3 phase=1.0 microbatch=0 version=3\n"
            "arm generator.0 step=3 phase=1.0 version=3 last\n"
            "weight-gradient generator.0 step=3 phase=1.0 node=0.1 microbatch=0 version=3 "
            "lets-go\n"
            "close-leaf generator.0 step=3 phase=1.0 microbatch=0 version=3\n"
            "reduce generator.0 step=3 phase=1.0 version=3 last\n"
            "await generator.0 step=3 phase=1.0 version=4\n");
}

/// What is said of a text of one good line and `line`.
std::string complaint(const std::string& line) {
  try {
    (void)list_from_text("flush step=1 phase=0.0\n" + line + "\n", kNetworkNames, "w.txt");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(StageText, RefusesWhatItDoesNotKnowByItsLine) {
  EXPECT_EQ(complaint("forwrd generator.0 step=0 phase=0.0"),
            "w.txt:2: 'forwrd' is no operation; did you mean forward?");
  EXPECT_THAT(complaint("forward critic.0 step=0"),
              HasSubstr("w.txt:2: 'critic.0' is no chunk of a network of the job, such as "
                        "generator.0"));
  EXPECT_THAT(complaint("forward"), HasSubstr("a chunk, such as generator.0 is missing"));
  EXPECT_THAT(complaint("send"), HasSubstr("an operation is missing"));
  EXPECT_THAT(complaint(""), HasSubstr("w.txt:2: an operation is missing"));
  EXPECT_THAT(complaint("forward generator.x"), HasSubstr("needs a whole number from 0 to"));
  EXPECT_THAT(complaint("forward generator.0 step=99999999999"),
              HasSubstr("'step=99999999999' needs a whole number from 0 to 2147483647"));
  EXPECT_THAT(complaint("forward generator.0 step=-1"), HasSubstr("needs a whole number"));
  EXPECT_THAT(complaint("forward generator.0 phase=1"),
              HasSubstr("'phase=1' needs two numbers with a dot between them"));
  EXPECT_EQ(complaint("forward generator.0 to=1"), "w.txt:2: 'to=1' means nothing behind forward");
  EXPECT_THAT(complaint("forward generator.0 keeps=1"), HasSubstr("means nothing"));
}

}  // namespace
}  // namespace gangway::pipeline
