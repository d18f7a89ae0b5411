// SPDX-License-Identifier: MIT
#include "run/decision_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::HasSubstr;

const Decisions kSome{{.kind = DecisionKind::kRollback,
                       .change = {.step = 300, .lr_factor = 0.1, .reseed = 2},
                       .why = "step 417: the generator's loss of micro-batch 0 is nan",
                       .seen = 417,
                       .start = 3,
                       .score = {}},
                      {.kind = DecisionKind::kScore,
                       .change = {.step = 600},
                       .why = "scored",
                       .seen = 500,
                       .start = 4,
                       .score = 1.0 / 3.0},
                      {.kind = DecisionKind::kEarlyStop,
                       .change = {.step = 900},
                       .why = "",
                       .seen = 800,
                       .score = {}}};

TEST(DecisionFile, GivesBackWhatWasDecided) {
  const testing::ScratchFolder run;
  EXPECT_EQ(read_decisions(run.path()), std::nullopt);
  write_decisions(run.path(), kSome);
  EXPECT_EQ(read_decisions(run.path()), kSome);
  write_decisions(run.path(), {});
  EXPECT_EQ(read_decisions(run.path()), Decisions{});
}

TEST(DecisionFile, NamesTheLineThatIsDamaged) {
  const testing::ScratchFolder run;
  for (
      const std::string bad :
      {"", "{", "{}", "{\"step\": 1, \"kind\": \"rollback\"}", "[1]",
       R"({"step": 1, "kind": "other", "why": "", "seen": 1, "start": 1, "lr_factor": 1, "reseed": 0})",
       R"({"step": -1, "kind": "score", "why": "", "seen": 1, "start": 1, "lr_factor": 1, "reseed": 0})",
       R"({"step": 1, "kind": "score", "why": "", "seen": 1, "start": 1, "lr_factor": -1, "reseed": 0})"}) {
    write_decisions(run.path(), {kSome.front()});
    std::string text = read_small_file(run.path() / kDecisionsFile, 4096).value();
    text += bad;
    text += '\n';
    write_file_atomically(run.path() / kDecisionsFile, text);
    try {
      (void)read_decisions(run.path());
      ADD_FAILURE() << bad;
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(), HasSubstr("decisions.jsonl, line 2")) << bad;
    }
  }
}

TEST(DecisionFile, MakesEventsOfManifests) {
  for (const Decision& decision : kSome) {
    EXPECT_EQ(
        parse_decision(decision.change.step, name_of(decision.kind), decision_detail(decision)),
        decision);
  }
  EXPECT_EQ(parse_decision(1, "repaired", "by hand"), std::nullopt);
  Decision loud = kSome.front();
  loud.why = "a\tb\n\xff" + std::string(10'000, 'x');
  const std::string detail = decision_detail(loud);
  EXPECT_LT(detail.size(), 4096U);
  EXPECT_EQ(parse_decision(1, "rollback", detail)->why.substr(0, 6), "a b  x");
}

}  // namespace
}  // namespace gangway
