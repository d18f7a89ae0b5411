// SPDX-License-Identifier: MIT
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/trouble/loss_bound.hpp"
#include "coordinator/trouble/rollback.hpp"
#include "coordinator/trouble/trouble_watch.hpp"
#include "coordinator/trouble/watch_history.hpp"
#include "tests/named_rows.hpp"

namespace gangway::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<WatchedNetwork> kNetworks{{.name = "generator"},
                                            {.name = "discriminator", .judges = true}};

/// Adds steps with steady losses. Returns the first trouble.
std::optional<Trouble> calm(TroubleWatch& watch, std::int64_t from, std::int64_t to) {
  for (std::int64_t step = from; step <= to; ++step) {
    const double wave = 1.0 + 0.1 * static_cast<double>(step % 7);
    if (auto trouble = watch.step(step, std::array{wave, -wave})) {
      return trouble;
    }
  }
  return std::nullopt;
}

TEST(TroubleWatch, SeesALossFarAboveTheMedianOfTheLast) {
  TroubleWatch watch({.loss_factor = 20.0}, kNetworks);
  EXPECT_EQ(calm(watch, 1, 200), std::nullopt);
  EXPECT_EQ(watch.step(201, std::array{15.0, 1.0}), std::nullopt)
      << "a spike, and within the bound";
  const auto trouble = watch.step(202, std::array{1.0, -50.0});
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->step, 202);
  EXPECT_THAT(trouble->what, HasSubstr("step 202: the discriminator's loss is -50"));
}

TEST(TroubleWatch, ComparesWithNothingBeforeThereAreLossesEnough) {
  TroubleWatch watch({.loss_factor = 20.0}, kNetworks);
  EXPECT_EQ(calm(watch, 1, 24), std::nullopt);
  EXPECT_EQ(watch.step(25, std::array{1e9, 1.0}), std::nullopt);
  EXPECT_TRUE(watch.step(26, std::array{1e9, 1.0}));
}

TEST(TroubleWatch, TakesAnyLossWhereThereIsNoBound) {
  TroubleWatch watch({}, kNetworks);
  EXPECT_EQ(calm(watch, 1, 100), std::nullopt);
  EXPECT_EQ(watch.step(101, std::array{1e300, 1e300}), std::nullopt);
}

TEST(TroubleWatch, SeesALossThatStaysBeyondAllThatItSaysAnythingOf) {
  TroubleWatch watch({}, {{.name = "generator"}, {.name = "discriminator", .loss_bound = 1e4}});
  const std::array beyond{1e300, 8e5};  // the generator's loss has no bound
  for (std::int64_t step = 1; step < 25; ++step) {
    EXPECT_EQ(watch.step(step, beyond), std::nullopt);
    EXPECT_TRUE(watch.remembers()) << "how many in a row";
  }
  EXPECT_EQ(watch.step(25, std::array{1e300, 9e3}), std::nullopt) << "not in a row";
  EXPECT_FALSE(watch.remembers()) << "a new one would be the same";
  for (std::int64_t step = 26; step < 50; ++step) {
    EXPECT_EQ(watch.step(step, std::array{1.0, -8e5}), std::nullopt);
  }
  TroubleWatch resumed({}, {{.name = "generator"}, {.name = "discriminator", .loss_bound = 1e4}});
  WatchHistory memory;
  memory.keep(49, watch.seen());
  resumed.go_on_from(*WatchHistory::parse(memory.text()).at(49));
  for (TroubleWatch* one : {&watch, &resumed}) {
    const auto trouble = one->step(50, beyond);
    ASSERT_TRUE(trouble);
    EXPECT_EQ(trouble->step, 26) << "the first that was beyond";
    EXPECT_THAT(
        trouble->what,
        HasSubstr("step 50: diverged: the discriminator's loss is 8e+05, and has been above "
                  "10000 (training.divergence.loss_bound) for 25 steps"));
    EXPECT_EQ(one->step(51, beyond), std::nullopt) << "each stretch once";
  }
}

/// Returns the bounds by network.
std::vector<double> bounds(std::string_view recipe, LossKind loss = LossKind::kNonsaturating) {
  JobSpec job = JobSpec::of(*recipe_named(recipe));
  job.training.loss = loss;
  std::vector<double> found;
  for (const RecipeNetwork& network : job.training.recipe->networks) {
    found.push_back(loss_bound(job, network));
  }
  return found;
}

TEST(LossBound, IsForLossesThatAreFunctionsOfLogitsAlone) {
  EXPECT_THAT(bounds("adversarial"), ElementsAre(1e4, 1e4));
  EXPECT_THAT(bounds("adversarial", LossKind::kHinge), ElementsAre(1e4, 1e4));
  EXPECT_THAT(bounds("adversarial", LossKind::kWasserstein), ElementsAre(0.0, 0.0));
  EXPECT_THAT(bounds("infogan"), ElementsAre(1e4, 1e4, 1e4, 1e4));
  EXPECT_THAT(bounds("vae"), ElementsAre(0.0, 0.0)) << "sums over pixels";
  EXPECT_THAT(bounds("vae-gan"), ElementsAre(0.0, 0.0, 0.0, 1e4));
  EXPECT_THAT(bounds("pix2pix"), ElementsAre(0.0, 1e4));
  EXPECT_THAT(bounds("cyclegan"), ElementsAre(0.0, 0.0, 1e4, 1e4));
  EXPECT_THAT(bounds("style-transfer"), ElementsAre(0.0, 0.0));
  EXPECT_THAT(bounds("distill"), ElementsAre(0.0, 0.0, 1e4, 0.0));
  const Recipe of_a_library = *recipe_named("adversarial");
  EXPECT_EQ(loss_bound(JobSpec::of(of_a_library), of_a_library.networks[1]), 0.0);
}

TEST(TroubleWatch, TellsOnceOfADiscriminatorThatHasNothingToLearn) {
  TroubleWatch watch({.saturated_ticks = 3}, kNetworks);
  EXPECT_EQ(watch.tick(10, std::array{1.0, 2.0}), std::nullopt);
  const std::array low{1e-9, 1e-4};  // the generator's loss has no lower limit
  EXPECT_EQ(watch.tick(20, low), std::nullopt);
  EXPECT_EQ(watch.tick(30, low), std::nullopt);
  EXPECT_EQ(watch.tick(40, std::array{1.0, 1.0}), std::nullopt) << "not in a row";
  EXPECT_EQ(watch.tick(50, low), std::nullopt);
  EXPECT_EQ(watch.tick(60, low), std::nullopt);
  const auto trouble = watch.tick(70, low);
  ASSERT_TRUE(trouble);
  EXPECT_THAT(trouble->what, HasSubstr("step 70: the discriminator's loss has been below 1e-04"));
  EXPECT_EQ(watch.tick(80, low), std::nullopt);
}

TEST(TroubleWatch, KnowsWhoJudgesWhateverTheNameIs) {
  TroubleWatch watch({.saturated_ticks = 1},
                     {{.name = "discriminator_fooler"}, {.name = "critic", .judges = true}});
  EXPECT_EQ(watch.tick(10, std::array{1.0, 1.0}), std::nullopt);
  EXPECT_EQ(watch.tick(20, std::array{0.0, 1.0}), std::nullopt);
  const auto trouble = watch.tick(30, std::array{1.0, 0.0});
  ASSERT_TRUE(trouble);
  EXPECT_THAT(trouble->what, HasSubstr("the critic's loss"));
}

TEST(TroubleWatch, SaysNothingOfSaturationWhereNobodyWantsToHear) {
  TroubleWatch watch({.saturated_ticks = 0}, kNetworks);
  for (int tick = 1; tick < 50; ++tick) {
    EXPECT_EQ(watch.tick(tick, std::array{1.0, tick == 1 ? 1.0 : 0.0}), std::nullopt);
  }
}

TEST(TroubleWatch, SeesAGeneratorThatMakesTheSameForSoManySteps) {
  TroubleWatch watch({.diversity = 0.1, .diversity_steps = 3}, kNetworks);
  const std::map<std::string, double> alike{{"discriminator_fake_spread", 0.1},
                                            {"discriminator_real_spread", 2.0}};
  std::map<std::string, double> diverse = alike;
  diverse["discriminator_fake_spread"] = 0.3;
  EXPECT_EQ(watch.step_figures(1, alike), std::nullopt);
  EXPECT_EQ(watch.step_figures(2, alike), std::nullopt);
  EXPECT_EQ(watch.step_figures(3, diverse), std::nullopt) << "not in a row";
  EXPECT_EQ(watch.step_figures(4, {}), std::nullopt);
  EXPECT_EQ(watch.step_figures(5, alike), std::nullopt);
  EXPECT_EQ(watch.step_figures(6, alike), std::nullopt);
  const auto trouble = watch.step_figures(7, alike);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->step, 7);
  EXPECT_THAT(trouble->what,
              HasSubstr("step 7: the examples that the discriminator got differed 0.05 times"));
  EXPECT_EQ(watch.step_figures(8, alike), std::nullopt) << "each stretch once";
}

TEST(TroubleWatch, LooksForNoLikenessWhereNobodyAskedOrRealExamplesAreAllTheSame) {
  const std::map<std::string, double> same{{"discriminator_fake_spread", 0.0},
                                           {"discriminator_real_spread", 0.0}};
  TroubleWatch watch({.diversity = 0.5, .diversity_steps = 1}, kNetworks);
  EXPECT_EQ(watch.step_figures(1, same), std::nullopt);
  TroubleWatch careless({.diversity_steps = 1}, kNetworks);
  EXPECT_EQ(careless.step_figures(
                1, {{"discriminator_fake_spread", 0.0}, {"discriminator_real_spread", 1.0}}),
            std::nullopt);
}

TEST(Rollback, ProposesACommandWithAChange) {
  DivergenceSpec spec;
  EXPECT_EQ(change_after_trouble(spec, {}), " training.divergence.policy=rollback");
  spec.policy = DivergencePolicy::kRollback;
  spec.retries = 1;
  const Decisions once{{.kind = DecisionKind::kRollback}};
  EXPECT_EQ(change_after_trouble(spec, once), " training.divergence.retries=4");
}

TEST(Rollback, GoesToTheLastButOneMultipleAndNotBehindTheBeginning) {
  EXPECT_EQ(rollback_step(1, 100, 0), 0);
  EXPECT_EQ(rollback_step(199, 100, 0), 0);
  EXPECT_EQ(rollback_step(200, 100, 0), 100);
  EXPECT_EQ(rollback_step(299, 100, 0), 100);
  EXPECT_EQ(rollback_step(1234, 1, 0), 1233);
  EXPECT_EQ(rollback_step(5040, 100, 5000), 5000);
}

TEST(Rollback, IsDecidedAsOftenAsTheJobSaysWithASeedForEach) {
  const DivergenceSpec spec{.policy = DivergencePolicy::kRollback, .retries = 2, .lr_factor = 0.1};
  Decisions decisions;
  for (const int number : {1, 2}) {
    const auto decision =
        rollback_of(spec, decisions, {.step = 250, .what = "a loss"}, 10 + number);
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->change, (SettingsChange{.step = 100, .lr_factor = 0.1, .reseed = number}));
    EXPECT_EQ(decision->start, 10 + number);
    EXPECT_EQ(decision->seen, 250);
    add_rollback(decisions, *decision);
  }
  EXPECT_EQ(rollback_of(spec, decisions, {.step = 250, .what = "a loss"}, 13), std::nullopt);
  const std::string story = rollback_story(spec, decisions);
  EXPECT_THAT(story, HasSubstr("tried 2 times"));
  EXPECT_THAT(story, HasSubstr("from step 100 on with learning rates times 0.1 after step 250"));
  EXPECT_THAT(story, HasSubstr("training.divergence.retries=5"));
}

TEST(Rollback, KeepsRandomNumbersWhereTheJobSaysSoAndIsNotForJobsThatStop) {
  DivergenceSpec spec{.policy = DivergencePolicy::kRollback, .reseed = false};
  EXPECT_EQ(rollback_of(spec, {}, {.step = 7, .what = ""}, 1)->change.reseed, 0);
  spec.policy = DivergencePolicy::kStop;
  EXPECT_EQ(rollback_of(spec, {}, {.step = 7, .what = ""}, 1), std::nullopt);
  EXPECT_THAT(rollback_story(spec, {}), IsEmpty());
}

TEST(Rollback, ForgetsWhatScoresOfLaterStepsHaveLedTo) {
  Decisions decisions;
  for (const std::int64_t step : {100, 200, 300}) {
    decisions.push_back(
        {.kind = DecisionKind::kScore, .change = {.step = step + 100}, .seen = step});
  }
  decisions.push_back(
      {.kind = DecisionKind::kPlateau, .change = {.step = 400, .lr_factor = 0.5}, .seen = 300});
  decisions.push_back({.kind = DecisionKind::kBranch, .change = {.step = 0}, .seen = 999});
  add_rollback(decisions, {.kind = DecisionKind::kRollback, .change = {.step = 200}, .seen = 390});
  ASSERT_EQ(decisions.size(), 4U);
  EXPECT_EQ(decisions[1].seen, 200);
  EXPECT_EQ(decisions[2].kind, DecisionKind::kBranch);
  EXPECT_EQ(decisions[3].kind, DecisionKind::kRollback);
}

TEST(TroubleWatch, GoesOnFromWhatAnotherRemembered) {
  const DivergenceSpec spec{.loss_factor = 20.0,
                            .saturated_ticks = 3,
                            .saturation_is_trouble = true,
                            .diversity = 0.1,
                            .diversity_steps = 30};
  const std::map<std::string, double> alike{{"discriminator_fake_spread", 0.1},
                                            {"discriminator_real_spread", 2.0}};
  TroubleWatch whole(spec, kNetworks);
  EXPECT_TRUE(whole.remembers());
  const auto train = [&](TroubleWatch& watch, std::int64_t from, std::int64_t to) {
    for (std::int64_t step = from; step <= to; ++step) {
      const std::array losses{1.0 / static_cast<double>(step), -0.1 * static_cast<double>(step)};
      EXPECT_EQ(watch.step(step, losses), std::nullopt);
      if (auto trouble = watch.step_figures(step, alike)) {
        return trouble;
      }
    }
    return std::optional<Trouble>();
  };
  EXPECT_EQ(train(whole, 1, 20), std::nullopt);
  EXPECT_EQ(whole.tick(20, std::array{1.0, 1.0}), std::nullopt);
  EXPECT_EQ(whole.tick(20, std::array{1.0, 1e-9}), std::nullopt);
  WatchHistory memory;
  memory.keep(20, whole.seen());
  const WatchHistory read = WatchHistory::parse(memory.text());
  ASSERT_TRUE(read.at(20));
  EXPECT_EQ(*read.at(20), whole.seen()) << "all bits of it";
  TroubleWatch resumed(spec, kNetworks);
  resumed.go_on_from(*read.at(20));
  const auto trouble = train(resumed, 21, 40);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->step, 30);
  EXPECT_FALSE(TroubleWatch({}, kNetworks).remembers()) << "what it finds is only told";
}

TEST(WatchHistory, HoldsTheNewestStepsAndNothingBehindWhereTrainingGoesOn) {
  WatchHistory memory;
  for (std::int64_t step = 1; step <= 40; ++step) {
    memory.keep(step, {SeenFigures{.alike = step}});
  }
  EXPECT_FALSE(memory.at(24));
  EXPECT_EQ(memory.at(25)->front().alike, 25);
  memory.begin_at(30);
  EXPECT_TRUE(memory.at(30));
  EXPECT_FALSE(memory.at(31));
}

TEST(WatchHistory, IsEmptyWhereItCannotBeRead) {
  for (const std::string text : {"", "x", "1 - 0", "1 - 0 0", "1 - 0 0 0x1p+0",
                                 "1 - 0 0 0 0x1p+0 word", "1 nan 0 0 0", "1 - 0 0 0 inf"}) {
    EXPECT_FALSE(WatchHistory::parse(text).at(1)) << text;
  }
  EXPECT_TRUE(WatchHistory::parse("1 - 0 0 0").at(1));
}

}  // namespace
}  // namespace gangway::coordinator
