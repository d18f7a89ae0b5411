// SPDX-License-Identifier: MIT
#include "launch/rates/range_figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/parse.hpp"
#include "launch/rates/find_lr.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kSteps = 300;

/// From 1e-6 to 1.
std::vector<double> rising_rates() {
  std::vector<double> rates;
  for (std::size_t step = 1; step <= kSteps; ++step) {
    rates.push_back(1e-6 * std::pow(1e6, static_cast<double>(step) / kSteps));
  }
  return rates;
}

/// stats.jsonl of the first `steps`, with losses by rate; the second network's is constant.
std::string stats_of(std::size_t steps, const std::function<double(double)>& loss) {
  const std::vector<double> rates = rising_rates();
  std::string text;
  for (std::size_t step = 0; step < steps; ++step) {
    text += fmt::format("{{\"step\": {}, \"kimg\": 1, \"first_loss\": {}, \"second_loss\": 0.5}}\n",
                        step + 1, loss(rates[step]));
  }
  return text;
}

RangeCurve curve_of(std::size_t steps, const std::function<double(double)>& loss) {
  return range_curve(stats_of(steps, loss), {"first", "none", "second"}, rising_rates());
}

/// Falls around 1e-3, explodes from 1e-1 on.
double usual_loss(double rate) {
  const double fallen = 1.0 / (1.0 + std::exp(-4.0 * (std::log10(rate) + 3.0)));
  return 1.4 - fallen + (rate > 0.1 ? 1e3 * (rate - 0.1) : 0.0);
}

TEST(RangeCurve, HasTheNetworksThatHaveALoss) {
  const RangeCurve curve = curve_of(kSteps, usual_loss);
  ASSERT_EQ(curve.networks.size(), 2U);
  EXPECT_EQ(curve.networks[0].name, "first");
  EXPECT_EQ(curve.networks[1].name, "second");
  EXPECT_EQ(curve.rates.size(), kSteps);
  EXPECT_NEAR(curve.networks[1].losses.front(), 0.5, 1e-12);
  EXPECT_NEAR(curve.networks[1].losses.back(), 0.5, 1e-12);
}

TEST(RangeCurve, RefusesLinesThatAreNotOfOneStepEach) {
  const std::vector<std::string> names{"first"};
  EXPECT_THROW((void)range_curve("{\"step\": 2}\n", names, rising_rates()), EnvironmentError);
  EXPECT_THROW((void)range_curve("no JSON\n", names, rising_rates()), EnvironmentError);
  EXPECT_THROW((void)range_curve("{\"step\": 1}\n{\"step\": 2}\n", names, {0.1}), EnvironmentError);
}

TEST(RangeVerdict, FindsWhereALossExplodesAndWhereItFallsFastest) {
  const RangeVerdict verdict =
      judge_range(curve_of(kSteps, usual_loss), {"first", "second"}, std::nullopt);
  ASSERT_TRUE(verdict.diverged);
  EXPECT_EQ(verdict.diverged->network, "first");
  EXPECT_GT(verdict.diverged->rate, 0.1);
  EXPECT_LT(verdict.diverged->rate, 0.2);
  ASSERT_EQ(verdict.steepest.size(), 1U);  // the other one's is constant
  EXPECT_DOUBLE_EQ(verdict.suggested, verdict.steepest[0].rate / 4.0);
  EXPECT_THAT(range_verdict_text(verdict, 1.0),
              HasSubstr(", 1/4 of where the first's loss falls fastest; try it and lower ones: "));
  EXPECT_GT(verdict.steepest[0].rate, 5e-4);
  EXPECT_LT(verdict.steepest[0].rate, 2.5e-3);
}

TEST(RangeVerdict, LooksForFallsOfTestedNetworksAlone) {
  EXPECT_TRUE(judge_range(curve_of(kSteps, usual_loss), {"second"}, std::nullopt).steepest.empty());
}

TEST(RangeVerdict, TakesTheEndOfARunThatDivergedForItsPlace) {
  const auto constant = [](double) { return 0.7; };
  const RangeCurve curve = curve_of(200, constant);
  const RangeVerdict verdict = judge_range(curve, {"first"}, rising_rates()[200]);
  ASSERT_TRUE(verdict.diverged);
  EXPECT_EQ(verdict.diverged->step, 200U);
  EXPECT_DOUBLE_EQ(verdict.suggested, rising_rates()[200] / 10.0);
  EXPECT_THAT(range_verdict_text(verdict, 1.0),
              HasSubstr("diverges at lr 0.01 (step 201): a loss or a weight is not finite\n"));
}

TEST(RangeVerdict, HoldsForARunThatDivergedAtOnce) {
  const RangeCurve curve = curve_of(0, usual_loss);
  const RangeVerdict verdict = judge_range(curve, {"first"}, 1e-6);
  ASSERT_TRUE(verdict.diverged);
  EXPECT_EQ(verdict.diverged->step, 0U);
}

TEST(RangeVerdict, OfLossesBelowZeroGoesByTheirSize) {
  const auto critic = [](double rate) { return rate < 1e-2 ? -50.0 : 400.0; };
  EXPECT_FALSE(judge_range(curve_of(kSteps, critic), {"first"}, std::nullopt).diverged);
  const auto exploded = [](double rate) { return rate < 1e-2 ? -50.0 : 4000.0; };
  EXPECT_TRUE(judge_range(curve_of(kSteps, exploded), {"first"}, std::nullopt).diverged);
}

TEST(RangeVerdict, SuggestsNothingNearAnExplosionHoweverTheLossFalls) {
  // Would fall fastest at 1e-1, and explodes before.
  const auto late = [](double rate) {
    return usual_loss(rate / 100.0) + (rate > 0.05 ? 50.0 : 0.0);
  };
  const RangeVerdict verdict = judge_range(curve_of(kSteps, late), {"first"}, std::nullopt);
  ASSERT_TRUE(verdict.diverged);
  EXPECT_DOUBLE_EQ(verdict.suggested, verdict.diverged->rate / 10.0);
  EXPECT_THAT(range_verdict_text(verdict, 1.0), HasSubstr(", 1/10 of where it diverges; try "));
}

TEST(RangeVerdict, RefusesARateAtWhichTheOtherNetworksLossSuffers) {
  RangeCurve curve = curve_of(kSteps, [](double rate) { return usual_loss(std::min(rate, 0.05)); });
  std::vector<double>& other = curve.networks[1].losses;  // at 1e-4 it is nine times as large
  for (std::size_t step = 0; step < kSteps; ++step) {
    other[step] = curve.rates[step] < 0.99e-4 ? 0.5 : 4.5;
  }
  const RangeVerdict refused = judge_range(curve, {"first", "second"}, std::nullopt);
  EXPECT_DOUBLE_EQ(refused.suggested, 0.0);
  ASSERT_TRUE(refused.suffers);
  EXPECT_EQ(refused.suffers->network, "second");
  EXPECT_NEAR(refused.suffers->rate, 1e-4, 1e-5);
  EXPECT_THAT(range_verdict_text(refused, 1.0),
              HasSubstr("suggested lr: none, from lr 0.0001 on (step 100) the second's loss is 4 "
                        "times its size above its best; "));
  for (std::size_t step = 0; step < kSteps; ++step) {
    other[step] = curve.rates[step] < 0.99e-4 ? 0.5 : 2.0;  // as adversaries' losses rise
  }
  EXPECT_GT(judge_range(curve, {"first", "second"}, std::nullopt).suggested, 1e-4);
}

TEST(RangeVerdict, WithoutAnExplosionSuggestsARateBelowTheSteepestFall) {
  const auto falling = [](double rate) { return usual_loss(std::min(rate, 0.05)); };
  const RangeVerdict verdict = judge_range(curve_of(kSteps, falling), {"first"}, std::nullopt);
  EXPECT_FALSE(verdict.diverged);
  EXPECT_DOUBLE_EQ(verdict.suggested, verdict.steepest.at(0).rate / 4.0);
  EXPECT_THAT(range_verdict_text(verdict, 1.0),
              HasSubstr("no loss explodes up to lr 1; a larger --to finds where one does\n"));
}

TEST(RangeVerdict, SaysThatNothingHappened) {
  const auto constant = [](double) { return 0.7; };
  const RangeVerdict verdict = judge_range(curve_of(kSteps, constant), {"first"}, std::nullopt);
  EXPECT_THAT(range_verdict_text(verdict, 1.0), HasSubstr("suggested lr: none"));
}

TEST(RangeTable, ShowsStepsEquallyFarApart) {
  const std::string table = range_table(curve_of(kSteps, usual_loss), 3);
  EXPECT_EQ(std::ranges::count(table, '\n'), 2 + 3);
  EXPECT_THAT(table, HasSubstr("first loss"));
  EXPECT_THAT(table, HasSubstr("101"));
}

TEST(RangeJob, RisesByEqualFactorsToItsLastStep) {
  const FindLrOptions options{.from = 1e-5, .to = 10.0, .steps = 60};
  for (const int batch : {8, 96, 128, 7 * 64}) {
    JobSpec job = parse_job("", "job.yaml");
    job.training.batch = batch;
    job.network("discriminator").steps = 3;
    const JobSpec range = range_job(job, tested_networks(job, ""), options);
    EXPECT_EQ(range.total_steps(), 60) << batch;
    EXPECT_EQ(range.steps_of_kimg(range.output.tick_kimg), 1) << batch;
    const std::vector<double> rates = range_rates(range, "generator");
    EXPECT_NEAR(rates.front(), 1e-5 * std::pow(1e6, 1.0 / 60.0), 1e-15);
    EXPECT_NEAR(rates.back(), 10.0, 1e-10);
    EXPECT_NEAR(rates[30] / rates[29], rates[1] / rates[0], 1e-9);
    EXPECT_EQ(parse_job(to_yaml(range), "job.yaml"), range) << batch;
  }
}

TEST(RangeJob, LeavesOtherNetworksAndTheirSchedulesAsTheyAre) {
  JobSpec job;
  job.network("generator").schedule = {.warmup_kimg = 3.0, .decay = DecayKind::kCosine};
  const JobSpec range = range_job(job, tested_networks(job, "discriminator"), {});
  EXPECT_EQ(range.network("generator"), job.network("generator"));
  EXPECT_EQ(range.burn_in_images(), job.burn_in_images());
  EXPECT_EQ(range.network("discriminator").optimizer.betas,
            job.network("discriminator").optimizer.betas);
}

TEST(RangeJob, TestsWhatIsTrained) {
  JobSpec job;
  EXPECT_THAT(tested_networks(job, ""), ElementsAre("generator", "discriminator"));
  EXPECT_THAT(tested_networks(job, "discriminator"), ElementsAre("discriminator"));
  EXPECT_THROW((void)tested_networks(job, "critic"), ConfigError);
  job.network("generator").is_frozen = true;
  EXPECT_THAT(tested_networks(job, ""), ElementsAre("discriminator"));
  EXPECT_THROW((void)tested_networks(job, "generator"), ConfigError);
}

}  // namespace
}  // namespace gangway::launch
