// SPDX-License-Identifier: MIT
// Compares optimisers for which LibTorch has no fused kernel with torch.optim. The expected weights
// are the output of optimizer_numbers.py.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/optimizer.hpp"

namespace gangway::gan {
namespace {

constexpr std::array kBegin{1.5, -0.75, 0.5, -2.0};
constexpr double kRelative = 1e-6;

struct TrainedCase {
  const char* name;
  OptimizerSpec settings;
  std::array<double, kBegin.size()> expected;  ///< after 20 updates
};

/// Returns the script's gradient, for any number of weights.
float scripted_gradient(std::size_t i, std::int64_t update) {
  const double place = static_cast<double>(i % kBegin.size());
  return static_cast<float>(std::sin(0.7 * static_cast<double>(update) + place) +
                            0.25 * kBegin[i % kBegin.size()]);
}

/// Weights, a gradient and zero moments, with so many elements.
struct FlatState {
  explicit FlatState(std::size_t count) : weights(count), gradient(count) {
    for (std::size_t i = 0; i < count; ++i) {
      weights[i] = static_cast<float>(kBegin[i % kBegin.size()]);
    }
    moments.fill(std::vector<float>(count));
  }
  /// Passes only the moments that the optimiser has.
  void step(const OptimizerSpec& settings, std::int64_t update, std::size_t first,
            std::size_t count) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = scripted_gradient(i, update);
    }
    OptimizerSlice slice{.weights = std::span(weights).subspan(first, count),
                         .gradient = std::span(gradient).subspan(first, count)};
    for (std::size_t m = 0; m < num_moments(settings.kind); ++m) {
      slice.moments[m] = std::span(moments[m]).subspan(first, count);
    }
    optimizer_step(settings, update, slice);
  }
  std::vector<float> weights;
  std::vector<float> gradient;
  PerMoment<std::vector<float>> moments;
};

class OptimizerNumbers : public testing::TestWithParam<TrainedCase> {};

TEST_P(OptimizerNumbers, AreThoseOfTorchAfterTwentyUpdates) {
  const TrainedCase& given = GetParam();
  FlatState state(kBegin.size());
  for (std::int64_t update = 1; update <= 20; ++update) {
    state.step(given.settings, update, 0, kBegin.size());
  }
  for (std::size_t i = 0; i < kBegin.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(state.weights[i]), given.expected[i],
                kRelative * std::abs(given.expected[i]));
  }
}

TEST_P(OptimizerNumbers, DoNotDependOnWhereTheSliceIsCut) {
  constexpr std::size_t kCount = 64 * 21;
  constexpr std::array<std::size_t, 5> kCuts{0, 64, 64 * 3, 64 * 20, kCount};
  const OptimizerSpec& settings = GetParam().settings;
  FlatState whole(kCount);
  FlatState sliced(kCount);
  for (std::int64_t update = 1; update <= 3; ++update) {
    whole.step(settings, update, 0, kCount);
    for (std::size_t cut = 0; cut + 1 < kCuts.size(); ++cut) {
      sliced.step(settings, update, kCuts[cut], kCuts[cut + 1] - kCuts[cut]);
    }
  }
  EXPECT_EQ(sliced.weights, whole.weights);
  EXPECT_EQ(sliced.moments, whole.moments);
}

INSTANTIATE_TEST_SUITE_P(
    Script, OptimizerNumbers,
    testing::Values(
        TrainedCase{"Rmsprop",
                    {.kind = OptimizerKind::kRmsprop, .lr = 1e-3},
                    {1.458111673, -0.744386277, 0.491241983, -1.951931854}},
        TrainedCase{"RmspropMomentum",
                    {.kind = OptimizerKind::kRmsprop,
                     .lr = 1e-3,
                     .eps = 1e-6,
                     .weight_decay = 0.01,
                     .alpha = 0.9,
                     .momentum = 0.7},
                    {1.455531193, -0.739453798, 0.491156199, -1.947764183}},
        TrainedCase{"Sgd",
                    {.kind = OptimizerKind::kSgd, .lr = 1e-2},
                    {1.408222369, -0.729350779, 0.473568601, -1.884695997}},
        TrainedCase{
            "SgdMomentum",
            {.kind = OptimizerKind::kSgd, .lr = 1e-2, .weight_decay = 0.01, .momentum = 0.9},
            {0.925172957, -0.548210113, 0.411866130, -1.265589587}},
        TrainedCase{
            "Lion",
            {.kind = OptimizerKind::kLion, .lr = 1e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1},
            {1.483015640, -0.744506422, 0.494999751, -1.978020188}}),
    [](const testing::TestParamInfo<TrainedCase>& given) { return std::string(given.param.name); });

TEST(Lion, LeavesAWeightWithoutAGradientWhereItIs) {
  std::vector<float> weight{2.0F};
  std::vector<float> momentum{0.0F};
  const std::vector<float> gradient{0.0F};
  OptimizerSlice slice{.weights = weight, .gradient = gradient};
  slice.moments[0] = momentum;
  optimizer_step({.kind = OptimizerKind::kLion, .lr = 0.5}, 1, slice);
  EXPECT_EQ(weight.front(), 2.0F);
  EXPECT_EQ(momentum.front(), 0.0F);
}

TEST(Lion, DoesNotHideAGradientThatIsNoNumber) {
  std::vector<float> weight{2.0F};
  std::vector<float> momentum{0.0F};
  const std::vector<float> gradient{std::nanf("")};
  OptimizerSlice slice{.weights = weight, .gradient = gradient};
  slice.moments[0] = momentum;
  optimizer_step({.kind = OptimizerKind::kLion, .lr = 0.5}, 1, slice);
  EXPECT_TRUE(std::isnan(weight.front()));
}

TEST(Schedule, GivesEveryOptimiserTheRateAndTheDecaysOfALazyRegulariser) {
  constexpr double kLaziness = 16.0 / 17.0;
  for (const OptimizerRow& row : kOptimizers) {
    NetworkSpec network;
    network.optimizer = row.defaults;
    network.optimizer.lr = 1e-3;
    network.optimizer.betas = {0.5, 0.9};
    network.optimizer.alpha = 0.8;
    network.optimizer.momentum = 0.7;
    const OptimizerSpec found = scheduled_settings(network, 0.0, 1000.0, kLaziness);
    const auto lazy = [&](double decay, bool has_it) {
      return has_it ? std::pow(decay, kLaziness) : decay;
    };
    const bool has_betas = row.kind != OptimizerKind::kRmsprop && row.kind != OptimizerKind::kSgd;
    const bool has_momentum =
        row.kind == OptimizerKind::kRmsprop || row.kind == OptimizerKind::kSgd;
    EXPECT_DOUBLE_EQ(found.lr, 1e-3 * kLaziness) << row.name;
    EXPECT_DOUBLE_EQ(found.betas[0], lazy(0.5, has_betas)) << row.name;
    EXPECT_DOUBLE_EQ(found.betas[1], lazy(0.9, has_betas)) << row.name;
    EXPECT_DOUBLE_EQ(found.alpha, lazy(0.8, row.kind == OptimizerKind::kRmsprop)) << row.name;
    EXPECT_DOUBLE_EQ(found.momentum, lazy(0.7, has_momentum)) << row.name;
  }
}

}  // namespace
}  // namespace gangway::gan
