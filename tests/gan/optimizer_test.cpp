// SPDX-License-Identifier: MIT
#include "gan/optimizer.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

std::vector<float> draw(std::int64_t count, std::uint64_t seed) {
  const at::Tensor values = keyed_normal({.seed = seed}, {count}, at::kCPU);
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + count};
}

/// Weights and moments of a small network.
struct State {
  explicit State(std::int64_t count) : weights(draw(count, 1)) {
    moments.fill(std::vector<float>(weights.size()));
  }
  std::vector<float> weights;
  PerMoment<std::vector<float>> moments;
  bool operator==(const State&) const = default;
};

std::vector<float> gradient_of(std::int64_t count, std::int64_t update) {
  return draw(count, 100 + static_cast<std::uint64_t>(update));
}

void step_range(const OptimizerSpec& settings, std::int64_t update, State& state,
                const std::vector<float>& gradient, std::size_t first, std::size_t count) {
  OptimizerSlice slice{.weights = std::span(state.weights).subspan(first, count),
                       .gradient = std::span(gradient).subspan(first, count)};
  for (std::size_t i = 0; i < num_moments(settings.kind); ++i) {
    slice.moments[i] = std::span(state.moments[i]).subspan(first, count);
  }
  optimizer_step(settings, update, slice);
}

/// The papers' update, in double precision.
struct PaperAdam {
  explicit PaperAdam(const std::vector<float>& start)
      : weights(start.begin(), start.end()), first(start.size()), second(start.size()) {}
  std::vector<double> weights;
  std::vector<double> first;
  std::vector<double> second;

  void step(const OptimizerSpec& settings, std::int64_t update,
            const std::vector<float>& gradient) {
    const double t = static_cast<double>(update);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double g = static_cast<double>(gradient[i]);
      if (settings.kind == OptimizerKind::kAdamW) {
        weights[i] -= settings.lr * settings.weight_decay * weights[i];
      } else {
        g += settings.weight_decay * weights[i];
      }
      first[i] = settings.betas[0] * first[i] + (1.0 - settings.betas[0]) * g;
      second[i] = settings.betas[1] * second[i] + (1.0 - settings.betas[1]) * g * g;
      const double corrected = std::sqrt(second[i] / (1.0 - std::pow(settings.betas[1], t)));
      weights[i] -= settings.lr * first[i] / (1.0 - std::pow(settings.betas[0], t)) /
                    (corrected + settings.eps);
    }
  }
};

class OptimizerStep : public testing::TestWithParam<OptimizerSpec> {};

TEST_P(OptimizerStep, FollowsTheFormulaOfThePaper) {
  constexpr std::int64_t kCount = 1000;
  State state(kCount);
  PaperAdam expected(state.weights);
  for (std::int64_t update = 1; update <= 20; ++update) {
    const std::vector<float> gradient = gradient_of(kCount, update);
    step_range(GetParam(), update, state, gradient, 0, kCount);
    expected.step(GetParam(), update, gradient);
  }
  for (std::size_t i = 0; i < state.weights.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(state.weights[i]), expected.weights[i], 1e-5);
  }
}

TEST_P(OptimizerStep, GivesTheSameBitsOnSlicesCutAtMultiplesOf64) {
  constexpr std::size_t kCount = 64 * 157;
  State whole(static_cast<std::int64_t>(kCount));
  State sliced(static_cast<std::int64_t>(kCount));
  const std::vector<std::size_t> cuts{0, 64, 192, 64 * 17, 64 * 18, 64 * 100, kCount};
  for (std::int64_t update = 1; update <= 3; ++update) {
    const std::vector<float> gradient = gradient_of(static_cast<std::int64_t>(kCount), update);
    step_range(GetParam(), update, whole, gradient, 0, kCount);
    for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
      step_range(GetParam(), update, sliced, gradient, cuts[cut], cuts[cut + 1] - cuts[cut]);
    }
  }
  EXPECT_EQ(whole, sliced);
}

INSTANTIATE_TEST_SUITE_P(AdamAndAdamW, OptimizerStep,
                         testing::Values(OptimizerSpec{.lr = 2e-4, .betas = {0.5, 0.999}},
                                         OptimizerSpec{
                                             .lr = 1e-3, .betas = {0.0, 0.9}, .weight_decay = 0.01},
                                         OptimizerSpec{.kind = OptimizerKind::kAdamW,
                                                       .lr = 1e-3,
                                                       .betas = {0.9, 0.99},
                                                       .weight_decay = 0.1}));

NetworkSpec spec_with(const ScheduleSpec& schedule) {
  NetworkSpec spec;
  spec.optimizer.lr = 1e-3;
  spec.schedule = schedule;
  return spec;
}

constexpr double kTotal = 40'000.0;

double lr_at(const ScheduleSpec& schedule, double images) {
  return scheduled_settings(spec_with(schedule), images, kTotal, 1.0).lr;
}

TEST(Schedule, IsConstantByDefault) {
  EXPECT_EQ(lr_at({}, 0.0), 1e-3);
  EXPECT_EQ(lr_at({}, kTotal), 1e-3);
}

TEST(Schedule, WarmsUpLinearlyFromZero) {
  const ScheduleSpec schedule{.warmup_kimg = 10.0};
  EXPECT_EQ(lr_at(schedule, 0.0), 0.0);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 2'500.0), 0.25e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 10'000.0), 1e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 30'000.0), 1e-3);
}

TEST(Schedule, FallsAlongACosineToItsFinalFactor) {
  const ScheduleSpec schedule{.decay = DecayKind::kCosine, .final_value = 0.1};
  EXPECT_DOUBLE_EQ(lr_at(schedule, 0.0), 1e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, kTotal / 2.0), 0.55e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, kTotal / 4.0),
                   1e-3 * (0.1 + 0.9 * 0.5 * (1.0 + std::numbers::sqrt2 / 2.0)));
  EXPECT_DOUBLE_EQ(lr_at(schedule, kTotal), 0.1e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 2.0 * kTotal), 0.1e-3);
}

TEST(Schedule, BringsTheSecondMomentsDecayToItsFinalOne) {
  NetworkSpec spec = spec_with({});
  spec.final_beta2 = 0.99;
  spec.optimizer.betas = {0.0, 0.9};
  const auto beta2 = [&](double images) {
    return scheduled_settings(spec, images, kTotal, 1.0).betas[1];
  };
  EXPECT_DOUBLE_EQ(beta2(0.0), 0.9);
  EXPECT_DOUBLE_EQ(beta2(kTotal / 2.0), 0.945);
  EXPECT_DOUBLE_EQ(beta2(kTotal), 0.99);
  EXPECT_DOUBLE_EQ(beta2(3.0 * kTotal), 0.99);
  EXPECT_EQ(scheduled_settings(spec, kTotal, kTotal, 1.0).betas[0], 0.0);
}

TEST(Schedule, BringsEachMomentsDecayOnItsWay) {
  NetworkSpec spec = spec_with({});
  spec.optimizer.betas = {0.5, 0.9};
  spec.beta1_schedule = {.decay = DecayKind::kLinear, .final_value = 0.0};
  spec.beta2_schedule = {.warmup_kimg = 10.0, .warmup_from = 0.5};
  const auto betas = [&](double images) {
    return scheduled_settings(spec, images, kTotal, 1.0).betas;
  };
  EXPECT_DOUBLE_EQ(betas(0.0)[0], 0.5);
  EXPECT_DOUBLE_EQ(betas(kTotal / 2.0)[0], 0.25);
  EXPECT_EQ(betas(kTotal)[0], 0.0);
  EXPECT_DOUBLE_EQ(betas(0.0)[1], 0.45);
  EXPECT_DOUBLE_EQ(betas(5'000.0)[1], 0.675);
  EXPECT_DOUBLE_EQ(betas(10'000.0)[1], 0.9);
  EXPECT_EQ(scheduled_settings(spec, kTotal, kTotal, 1.0).lr, spec.optimizer.lr);
}

TEST(Schedule, FallsInSteps) {
  const ScheduleSpec schedule{.decay = DecayKind::kStep, .step_kimg = 10.0, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(lr_at(schedule, 9'999.0), 1e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 10'000.0), 0.5e-3);
  EXPECT_DOUBLE_EQ(lr_at(schedule, 30'000.0), 0.125e-3);
}

TEST(Schedule, ScalesRateAndMomentsForALazyRegulariser) {
  NetworkSpec spec = spec_with({});
  spec.optimizer.betas = {0.5, 0.99};
  const double laziness = 16.0 / 17.0;
  const OptimizerSpec settings = scheduled_settings(spec, 0.0, kTotal, laziness);
  EXPECT_DOUBLE_EQ(settings.lr, 1e-3 * laziness);
  EXPECT_DOUBLE_EQ(settings.betas[0], std::pow(0.5, laziness));
  EXPECT_DOUBLE_EQ(settings.betas[1], std::pow(0.99, laziness));
}

TEST(Schedule, ScalesThemWithoutARegulariserWhereTheJobSaysSo) {
  NetworkSpec spec = spec_with({});
  spec.optimizer.betas = {0.0, 0.99};
  spec.lazy_interval = 4;
  const OptimizerSpec settings = scheduled_settings(spec, 0.0, kTotal, 1.0);
  EXPECT_DOUBLE_EQ(settings.lr, 1e-3 * 4.0 / 5.0);
  EXPECT_DOUBLE_EQ(settings.betas[1], std::pow(0.99, 4.0 / 5.0));
}

/// A network whose average has a half-life of 10,000 images; 100 updates of 50 are done.
NetworkSpec averaged_network() {
  NetworkSpec spec;
  spec.ema_kimg = 10.0;
  return spec;
}
constexpr AveragePlace kBehind100Updates{
    .images = 5000.0, .images_per_step = 50.0, .updates = 100.0, .burn_in_images = 20'000.0};

TEST(AverageDecay, IsBoundedByTheUpdatesSoFar) {
  EXPECT_DOUBLE_EQ(average_decay(averaged_network(), kBehind100Updates), 101.0 / 110.0);
}

TEST(AverageDecay, IsThatOfTheHalfLifeWithoutABound) {
  NetworkSpec spec = averaged_network();
  spec.ema_rampup.kind = RampUp::Kind::kNone;
  EXPECT_DOUBLE_EQ(average_decay(spec, kBehind100Updates), std::exp2(-50.0 / 10'000.0));
}

TEST(AverageDecay, HasAHalfLifeOfAShareOfTheImagesBeforeTheStep) {
  NetworkSpec spec = averaged_network();
  spec.ema_rampup = {.kind = RampUp::Kind::kShare, .share = 0.05};
  EXPECT_DOUBLE_EQ(average_decay(spec, kBehind100Updates), std::exp2(-50.0 / (0.05 * 4950.0)));
  EXPECT_EQ(average_decay(spec, {.images = 50.0, .images_per_step = 50.0}), 0.0);
}

TEST(AverageDecay, RisesFromNothingWhereTheHalfLifeDoes) {
  NetworkSpec spec;
  spec.ema_schedule = {.decay = DecayKind::kCosine, .final_value = 8.0};
  spec.ema_rampup.kind = RampUp::Kind::kNone;
  EXPECT_TRUE(spec.is_averaged());
  const double half_life = 8000.0 * (0.5 - 0.5 * std::cos(M_PI / 4.0));
  EXPECT_NEAR(average_decay(spec, kBehind100Updates), std::exp2(-50.0 / half_life), 1e-12);
}

TEST(AverageDecay, IsNothingUntilTheAverageBegins) {
  NetworkSpec spec = averaged_network();
  spec.ema_start_kimg = 5.001;
  EXPECT_EQ(average_decay(spec, kBehind100Updates), 0.0);
  spec.ema_start_kimg = 5.0;
  EXPECT_GT(average_decay(spec, kBehind100Updates), 0.9);
}

}  // namespace
}  // namespace gangway::gan
