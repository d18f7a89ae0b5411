// SPDX-License-Identifier: MIT
#include "pipeline/phases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/adversarial_networks.hpp"

namespace gangway::pipeline {
namespace {

using ::testing::ElementsAre;

constexpr NetworkId kFirst = kGenerator;
constexpr NetworkId kSecond = kDiscriminator;

/// Returns a pass of both networks.
Pass judged_fakes() {
  return {"fake",
          {Draw{.output = "noise"}, Application{kFirst, {{"noise", "noise"}}, "fake"},
           Application{kSecond, {{"image", "fake"}}, "logits"}, Loss{"hinge-fake", {"logits"}}}};
}

Phase phase_of(NetworkId network, int repeats = 1, int interval = 1) {
  return {
      .networks = {network}, .repeats = repeats, .interval = interval, .passes = {judged_fakes()}};
}

TEST(Phases, RunInTheFirstStepAndThenEveryInterval) {
  const Phase lazy{.interval = 4};
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < 9; ++step) {
    if (runs_in(lazy, step)) {
      steps.push_back(step);
    }
  }
  EXPECT_THAT(steps, ElementsAre(0, 4, 8));
}

TEST(Phases, HaveTheirPositionAsIndexOnceCompleted) {
  const std::vector<Phase> phases =
      completed({phase_of(kSecond), phase_of(kFirst), phase_of(kSecond)});
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i].index, static_cast<int>(i));
  }
}

TEST(Phases, KnowWhatHasAGradientOnceCompleted) {
  const std::vector<Phase> phases = completed({phase_of(kSecond), phase_of(kFirst)});
  EXPECT_THAT(phases[0].passes[0].has_gradient, ElementsAre(false, false, true, true));
  EXPECT_THAT(phases[1].passes[0].has_gradient, ElementsAre(false, true, true, true));
}

TEST(Phases, AreRefusedWhereTheyTrainANetworkWithoutALoss) {
  Phase phase = phase_of(kFirst);
  phase.passes[0].nodes = {Reals{}, Application{kSecond, {{"image", "real"}}, "logits"},
                           Loss{"hinge-real", {"logits"}}};
  EXPECT_THROW(static_cast<void>(completed({phase})), InvariantError);
  phase.networks = {kSecond};
  EXPECT_NO_THROW(static_cast<void>(completed({phase})));
  phase.passes[0].nodes = {Reals{}, Penalty{kSecond, "r1", 1.0, {{"image", "real"}}}};
  EXPECT_NO_THROW(static_cast<void>(completed({phase})));
}

TEST(Phases, HarvestStatisticsOncePerApplicationOfATrainedNetwork) {
  Phase phase = phase_of(kSecond);
  phase.passes.push_back(
      {"real",
       {Reals{}, Application{kSecond, {{"image", "real"}}, "logits"}, Loss{"x", {"logits"}}}});
  phase.passes.push_back({"r1", {Reals{}, Penalty{kSecond, "r1", 1.0, {{"image", "real"}}}}});
  EXPECT_EQ(harvests_of(phase, kSecond), 2);
  EXPECT_EQ(harvests_of(phase, kFirst), 0);  // applied, but not trained
}

TEST(Phases, CorrectTheOptimiserOnlyForALazyPhaseOfTheNetwork) {
  EXPECT_EQ(laziness_of({phase_of(kSecond), phase_of(kFirst)}, kSecond), 1.0);
  const std::vector<Phase> lazy{phase_of(kSecond), phase_of(kSecond, 1, 4), phase_of(kFirst)};
  EXPECT_EQ(laziness_of(lazy, kSecond), 4.0 / 5.0);
  EXPECT_EQ(laziness_of(lazy, kFirst), 1.0);
  EXPECT_EQ(laziness_of({phase_of(kSecond, 3), phase_of(kSecond, 1, 4)}, kSecond), 12.0 / 13.0);
}

}  // namespace
}  // namespace gangway::pipeline
