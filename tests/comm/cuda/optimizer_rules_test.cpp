// SPDX-License-Identifier: MIT
// Compares the fused update's optimisers with those of the CPU.
#include "comm/cuda/optimizer_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/optimizer.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

struct Case {
  const char* name;
  OptimizerSpec settings;
};

constexpr std::size_t kElements = 4096;

struct State {
  std::vector<float> weights, gradient;
  PerMoment<std::vector<float>> moments;

  State() : weights(kElements), gradient(kElements) {
    moments.fill(weights);
    for (std::size_t i = 0; i < kElements; ++i) {
      weights[i] = scattered(i);
      gradient[i] = scattered(i + kElements);
      for (std::size_t m = 0; m < moments.size(); ++m) {
        // Moments after the first are means of squares, so they are not negative.
        const float value = scattered(i + (m + 2) * kElements);
        moments[m][i] = m == 0 ? 0.1F * value : std::abs(0.01F * value);
      }
    }
  }
  [[nodiscard]] gan::OptimizerSlice slice() {
    gan::OptimizerSlice whole{.weights = weights, .gradient = gradient};
    std::ranges::copy(moments, whole.moments.begin());
    return whole;
  }
};

template <typename Rule>
void update(const Rule& rule, State& state) {
  for (std::size_t i = 0; i < kElements; ++i) {
    float moments[kMaxMoments];
    for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
      moments[m] = state.moments[m][i];
    }
    rule.update(state.gradient[i], state.weights[i], moments);
    for (std::size_t m = 0; m < Rule::kNumMoments; ++m) {
      state.moments[m][i] = moments[m];
    }
  }
}

class OptimizerRule : public testing::TestWithParam<Case> {};

TEST_P(OptimizerRule, HasTheBitsOfCpusWithFma) {
  const OptimizerSpec& settings = GetParam().settings;
  State on_cpu;
  State own;
  for (std::int64_t count = 1; count <= 20; ++count) {
    gan::optimizer_step(settings, count, on_cpu.slice());
    with_rule(settings.kind, [&](auto kind) {
      using Rule = decltype(kind);
      static_assert(Rule::kNumMoments <= kMaxMoments);
      EXPECT_EQ(Rule::kNumMoments, num_moments(settings.kind));
      update(Rule::of(settings, count), own);
    });
  }
  if (__builtin_cpu_supports("fma") == 0) {
    GTEST_SKIP() << "this CPU has no FMA: LibTorch rounds more often here";
  }
  EXPECT_TRUE(same_bits(own.weights, on_cpu.weights));
  for (std::size_t m = 0; m < kMaxMoments; ++m) {
    EXPECT_TRUE(same_bits(own.moments[m], on_cpu.moments[m])) << "moment " << m;
  }
}

constexpr std::array kUsual{0.9, 0.999};
constexpr OptimizerKind kAdamW = OptimizerKind::kAdamW;
INSTANTIATE_TEST_SUITE_P(
    Settings, OptimizerRule,
    testing::Values(
        Case{"Dcgan", {.lr = 2e-4, .betas = {0.5, 0.999}}},
        Case{"Default", {.lr = 1e-3, .betas = kUsual}},
        Case{"NoMomentum", {.lr = 2e-3, .betas = {0.0, 0.99}}},
        Case{"WeightDecay", {.lr = 1e-3, .betas = kUsual, .weight_decay = 0.01}},
        Case{"AdamW", {.kind = kAdamW, .lr = 1e-3, .betas = {0.5, 0.999}, .weight_decay = 0.01}},
        Case{"AdamWWithoutDecay", {.kind = kAdamW, .lr = 1e-3, .betas = kUsual}},
        Case{"Rmsprop", {.kind = OptimizerKind::kRmsprop, .lr = 1e-3}},
        Case{"RmspropMomentum",
             {.kind = OptimizerKind::kRmsprop,
              .lr = 1e-3,
              .weight_decay = 0.01,
              .alpha = 0.9,
              .momentum = 0.7}},
        Case{"Sgd", {.kind = OptimizerKind::kSgd, .lr = 1e-2}},
        Case{"SgdMomentum",
             {.kind = OptimizerKind::kSgd, .lr = 1e-2, .weight_decay = 0.01, .momentum = 0.9}},
        Case{"Lion", {.kind = OptimizerKind::kLion, .betas = {0.9, 0.99}, .weight_decay = 0.1}}),
    [](const testing::TestParamInfo<Case>& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace gangway::comm
