// SPDX-License-Identifier: MIT
// The history of a run that began with another run's checkpoint.
#include "coordinator/resume/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

checkpoint::Manifest manifest(std::int64_t step, const std::string& id) {
  checkpoint::Manifest manifest;
  manifest.step = step;
  manifest.checkpoint_id = id;
  return manifest;
}

/// Returns the manifest of a checkpoint of this run, saved under `decisions`.
checkpoint::Manifest saved(std::int64_t step, const Decisions& decisions) {
  checkpoint::Manifest manifest;
  manifest.step = step;
  manifest.events = events_of(decisions);
  return manifest;
}

TEST(History, KnowsABranchByTheCheckpointAndNotByItsStepAlone) {
  const Decisions own = branched({}, manifest(500, "aa"), "/runs/a", 3);
  ASSERT_TRUE(own_branch(own));
  EXPECT_EQ(own_branch(own)->start, 3);
  EXPECT_EQ(branched(own, manifest(500, "aa"), "/moved/a", 4), own) << "the same again";
  const Decisions other = branched(own, manifest(500, "bb"), "/runs/b", 4);
  EXPECT_NE(other, own);
  EXPECT_EQ(own_branch(other)->start, 4);
}

TEST(History, TakesTheOtherRunsDecisionsAlongAsNobodysStarts) {
  const Decisions theirs = branched({}, manifest(100, "cc"), "/runs/c", 7);
  checkpoint::Manifest from = saved(500, theirs);
  from.checkpoint_id = "aa";
  const Decisions own = branched({}, from, "/runs/a", 3);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0].start, 0);
  EXPECT_EQ(own_branch(own)->change.step, 500);
  EXPECT_EQ(origin_of(own), 500);
}

TEST(History, RepeatsWhatAnotherRunHadDecidedAndKeepsItsOwnBranch) {
  checkpoint::Manifest later = manifest(900, "dd");
  later.events = events_of({{.kind = DecisionKind::kRollback,
                             .change = {.step = 600, .lr_factor = 0.5, .reseed = 1},
                             .seen = 700,
                             .start = 4}});
  const Decisions own = branched({}, manifest(500, "aa"), "/runs/a", 1);
  const Decisions all = repeated(own, later);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().change.lr_factor, 0.5);
  EXPECT_EQ(all.front().start, 0) << "of its starts this run knows nothing";
  EXPECT_EQ(all.back(), own.back());
  EXPECT_EQ(repeated(all, later), all) << "the same again";
}

TEST(History, TellsWhatTheRunWasBeforeItBranchedOffFromWhatItHasBeenSince) {
  const Decisions own = branched({}, manifest(500, "aa"), "/runs/a", 3);
  EXPECT_FALSE(is_since_branch(saved(100, {}), own)) << "older, of its own";
  EXPECT_FALSE(is_since_branch(saved(500, {}), own)) << "and of the same step";
  EXPECT_TRUE(is_since_branch(saved(510, own), own));
  EXPECT_TRUE(is_since_branch(saved(100, {}), {})) << "it never did";
}

TEST(History, EndsARunWhereItStoppedEarlyUnlessThatIsNoLongerWanted) {
  const auto decided = [](DecisionKind kind, std::int64_t step) {
    return Decisions{{.kind = kind, .change = {.step = step}}};
  };
  JobSpec job;
  job.checkpoint.early_stop = 3;
  EXPECT_EQ(last_step(job, {}), job.total_steps());
  EXPECT_EQ(last_step(job, decided(DecisionKind::kEarlyStop, 4)), 4);
  EXPECT_EQ(last_step(job, decided(DecisionKind::kPlateau, 4)), job.total_steps());
  job.checkpoint.early_stop = 0;
  EXPECT_EQ(last_step(job, decided(DecisionKind::kEarlyStop, 4)), job.total_steps());
}

}  // namespace
}  // namespace gangway::coordinator
