// SPDX-License-Identifier: MIT
#include "coordinator/core/score_watch.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::ElementsAre;

/// Checkpoints at 100, 200, … 900; the end is at 1000.
ScorePlan patience_plan(int early_stop, int patience = 0) {
  return {.plateau = {.patience = patience, .factor = 0.25},
          .early_stop = early_stop,
          .checkpoint_steps = {100, 0},
          .total_steps = 1000};
}

/// Returns all decisions for scores at 100, 200, and so on; NaN: no score.
Decisions after(const ScorePlan& plan, const std::vector<double>& scores) {
  const ScoreWatch watch(plan);
  Decisions all;
  std::int64_t step = 0;
  for (const double score : scores) {
    step += 100;
    Decisions news = watch.found(
        all, {.step = step, .value = score == score ? std::optional(score) : std::nullopt}, 1);
    std::ranges::move(news, std::back_inserter(all));
  }
  return all;
}

std::vector<Decision> of_kind(const Decisions& decisions, DecisionKind kind) {
  std::vector<Decision> found;
  for (const Decision& decision : decisions) {
    if (decision.kind == kind) {
      found.push_back(decision);
    }
  }
  return found;
}

TEST(ScorePlan, CountsTheCheckpointsOfTheJobsOwnSteps) {
  const ScorePlan both{.early_stop = 1, .checkpoint_steps = {40, 100}, .total_steps = 1000};
  std::vector<std::int64_t> steps;
  for (std::int64_t step = both.next(0); step < 250; step = both.next(step)) {
    steps.push_back(step);
  }
  EXPECT_THAT(steps, ElementsAre(40, 80, 100, 120, 160, 200, 240));
  EXPECT_EQ(both.last_before(101), 100);
  EXPECT_EQ(both.last_before(100), 80);
  EXPECT_EQ(both.last_before(40), 0);
  EXPECT_EQ(both.next(960), 1000);
  EXPECT_FALSE(both.counts(1000 - 3)) << "no multiple";
  EXPECT_EQ(patience_plan(1).next(900), 1000);
}

TEST(ScoreWatch, EndsTheRunAtTheCheckpointBehindTheScoreThatWasOneTooMany) {
  const Decisions decisions = after(patience_plan(2), {5.0, 4.0, 4.5, 4.0});
  const auto stops = of_kind(decisions, DecisionKind::kEarlyStop);
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].seen, 400);
  EXPECT_EQ(stops[0].change.step, 500);
  EXPECT_EQ(stops[0].why, "2 scores in a row are not better than that of step 200");
}

TEST(ScoreWatch, GoesOnWhileSomethingIsBetterNowAndThen) {
  const Decisions decisions = after(patience_plan(2), {5.0, 6.0, 4.0, 4.5, 3.0, 3.5, 2.0});
  EXPECT_EQ(of_kind(decisions, DecisionKind::kScore).size(), 7U);
  EXPECT_EQ(decisions.size(), 7U);
}

TEST(ScoreWatch, LowersRatesOnceForEachStretchWithoutABetterScore) {
  const Decisions decisions = after(patience_plan(0, 2), {1.0, 2.0, 2.0, 2.0, 2.0, 0.5, 2.0});
  const auto lowered = of_kind(decisions, DecisionKind::kPlateau);
  ASSERT_EQ(lowered.size(), 2U);
  EXPECT_EQ(lowered[0].change, (SettingsChange{.step = 400, .lr_factor = 0.25}));
  EXPECT_EQ(lowered[1].change, (SettingsChange{.step = 600, .lr_factor = 0.25}));
}

TEST(ScoreWatch, DoesNotCountWhatHasNoScore) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Decisions decisions = after(patience_plan(2), {1.0, none, 2.0, none});
  EXPECT_EQ(decisions.size(), 4U);
  EXPECT_EQ(of_kind(after(patience_plan(2), {1.0, none, 2.0, none, 2.0}), DecisionKind::kEarlyStop)
                .size(),
            1U);
}

TEST(ScoreWatch, DecidesNothingTwiceNorAtOtherStepsNorBehindTheEnd) {
  const ScoreWatch watch(patience_plan(1));
  const Decisions earlier = after(patience_plan(1), {1.0});
  EXPECT_TRUE(watch.found(earlier, {.step = 100, .value = 9.0}, 2).empty());
  EXPECT_TRUE(watch.found(earlier, {.step = 150, .value = 9.0}, 2).empty());
  EXPECT_EQ(watch.found(earlier, {.step = 900, .value = 9.0}, 2).size(), 1U)
      << "the end comes next";
  EXPECT_TRUE(ScoreWatch(patience_plan(0)).found({}, {.step = 100, .value = 1.0}, 1).empty());
}

TEST(ScoreWatch, HoldsTrainingAtTheCheckpointBehindTheOneThatIsToBeScored) {
  const ScoreWatch watch(patience_plan(1));
  EXPECT_EQ(watch.gate({}, 0), 200);
  EXPECT_EQ(watch.gate(after(patience_plan(9), {1.0}), 0), 300);
  EXPECT_EQ(watch.gate(after(patience_plan(9), std::vector<double>(7, 1.0)), 0), 900);
  EXPECT_EQ(watch.gate(after(patience_plan(9), std::vector<double>(8, 1.0)), 0), std::nullopt)
      << "behind the last one is the end";
  EXPECT_EQ(ScoreWatch(patience_plan(0)).gate({}, 0), std::nullopt);
}

TEST(ScoreWatch, HasTheCheckpointScoredThatAnEarlierStartDidNotComeTo) {
  const ScoreWatch watch(patience_plan(1));
  const Decisions one = after(patience_plan(9), {1.0});
  EXPECT_EQ(watch.unscored({}, 0), std::nullopt);
  EXPECT_EQ(watch.unscored(one, 150), std::nullopt);
  EXPECT_EQ(watch.unscored(one, 200), 200);
  EXPECT_EQ(watch.unscored(one, 270), 200);
  EXPECT_EQ(watch.unscored(one, 300), 200) << "training has waited at 300";
  EXPECT_EQ(watch.gate(one, 270), 300);
  Decisions branch{{.kind = DecisionKind::kBranch, .change = {.step = 200}, .seen = 200}};
  EXPECT_EQ(watch.unscored(branch, 270), std::nullopt) << "that is another run's";
  EXPECT_EQ(watch.gate(branch, 270), 400);
}

}  // namespace
}  // namespace gangway::coordinator
