// SPDX-License-Identifier: MIT
#include "job/decisions.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace gangway {
namespace {

Decision rollback(std::int64_t step, std::int64_t start, int reseed = 1) {
  return {.kind = DecisionKind::kRollback,
          .change = {.step = step, .lr_factor = 0.5, .reseed = reseed},
          .why = "a loss",
          .seen = step + 150,
          .start = start,
          .score = {}};
}

TEST(StepSettings, AreTheJobsOwnWithoutDecisions) {
  EXPECT_EQ(settings_at(7, {}, 12), (StepSettings{.lr_factor = 1.0, .seed = 7}));
}

TEST(StepSettings, ChangeFromTheStepOfADecisionOnAndAddUp) {
  const std::vector<SettingsChange> changes{{.step = 100, .lr_factor = 0.5, .reseed = 1},
                                            {.step = 40, .lr_factor = 0.25, .reseed = 2},
                                            {.step = 200, .lr_factor = 0.1}};
  EXPECT_EQ(settings_at(7, changes, 39), settings_at(7, {}, 39));
  EXPECT_EQ(settings_at(7, changes, 40),
            (StepSettings{.lr_factor = 0.25, .seed = seed_of_retry(7, 2)}));
  EXPECT_EQ(settings_at(7, changes, 99), settings_at(7, changes, 40));
  EXPECT_EQ(settings_at(7, changes, 100),
            (StepSettings{.lr_factor = 0.125, .seed = seed_of_retry(7, 2)}))
      << "of two seeds, the later retry's";
  EXPECT_EQ(settings_at(7, changes, 200).lr_factor, 0.5 * 0.25 * 0.1);
  EXPECT_EQ(settings_at(7, changes, 200).seed, seed_of_retry(7, 2));
}

TEST(StepSettings, HaveAnotherSeedForEachRetryAndEachJob) {
  EXPECT_EQ(seed_of_retry(7, 0), 7U);
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (int retry = 0; retry < 20; ++retry) {
      seeds.insert(seed_of_retry(seed, retry));
    }
  }
  EXPECT_EQ(seeds.size(), 1000U);
}

TEST(Decisions, HaveNamesThatAreReadAgain) {
  for (const DecisionKind kind :
       {DecisionKind::kBranch, DecisionKind::kRollback, DecisionKind::kScore,
        DecisionKind::kPlateau, DecisionKind::kEarlyStop}) {
    EXPECT_EQ(decision_kind(name_of(kind)), kind);
  }
  EXPECT_EQ(decision_kind("rollbacks"), std::nullopt);
}

TEST(Decisions, PutStatesOffTheWayThatWereTrainedOtherwise) {
  const Decisions now{rollback(100, 1)};
  EXPECT_TRUE(is_on_the_way(100, Decisions{}, now)) << "nothing before it has changed";
  EXPECT_FALSE(is_on_the_way(101, Decisions{}, now));
  EXPECT_TRUE(is_on_the_way(101, now, now));
  const Decisions twice{rollback(100, 1), rollback(50, 2, 2)};
  EXPECT_TRUE(is_on_the_way(50, now, twice));
  EXPECT_FALSE(is_on_the_way(60, now, twice));
  EXPECT_FALSE(is_on_the_way(150, now, twice));
  EXPECT_TRUE(is_on_the_way(150, twice, twice));
}

TEST(Decisions, PutSnapshotsOffTheWayThatEarlierStartsHaveTaken) {
  const Decisions now{rollback(100, 1), rollback(300, 2, 2)};
  EXPECT_TRUE(is_on_the_way(100, 1, now));
  EXPECT_FALSE(is_on_the_way(101, 1, now));
  EXPECT_TRUE(is_on_the_way(300, 2, now));
  EXPECT_FALSE(is_on_the_way(301, 2, now));
  EXPECT_TRUE(is_on_the_way(301, 3, now));
}

TEST(Decisions, PutAllSnapshotsOffTheWayThatTheRunTookBeforeItBranchedOff) {
  const Decisions now{
      {.kind = DecisionKind::kBranch, .change = {.step = 500}, .seen = 500, .start = 3}};
  for (const std::int64_t step : {100, 600}) {
    EXPECT_FALSE(is_on_the_way(step, 2, now));
  }
  EXPECT_TRUE(is_on_the_way(600, 3, now));
  EXPECT_TRUE(is_on_the_way(600, 4, now));
}

TEST(Decisions, DoNotGoBackBehindABranchAndScoresChangeNothing) {
  Decisions now{rollback(100, 1)};
  EXPECT_EQ(origin_of(now), 0);
  now.push_back({.kind = DecisionKind::kBranch, .change = {.step = 5000}, .seen = 5000});
  now.push_back({.kind = DecisionKind::kScore, .change = {.step = 6000}, .seen = 5500});
  EXPECT_EQ(origin_of(now), 5000);
  EXPECT_EQ(num_rollbacks(now), 1);
  EXPECT_EQ(changes_of(now).size(), 1U);
}

}  // namespace
}  // namespace gangway
