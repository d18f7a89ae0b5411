// SPDX-License-Identifier: MIT
// The fused update's Adam against LibTorch's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/cuda/slice_update.hpp"
#include "gan/optimizer.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

struct Case {
  const char* name;
  UpdateSettings settings;
};

constexpr std::size_t kElements = 4096;

struct State {
  std::vector<float> weights, gradient, first, second;

  State() : weights(kElements), gradient(kElements), first(kElements), second(kElements) {
    for (std::size_t i = 0; i < kElements; ++i) {
      weights[i] = scattered(i);
      gradient[i] = scattered(i + kElements);
      first[i] = 0.1F * scattered(i + 2 * kElements);
      second[i] = std::abs(0.01F * scattered(i + 3 * kElements));
    }
  }
};

class FusedAdam : public testing::TestWithParam<Case> {};

TEST_P(FusedAdam, HasTheBitsOfLibTorchOnCpusWithFma) {
  UpdateSettings settings = GetParam().settings;
  State torch;
  State own;
  const auto kind =
      settings.rule == UpdateSettings::Rule::kAdam ? OptimizerKind::kAdam : OptimizerKind::kAdamW;
  for (settings.update = 1; settings.update <= 20; ++settings.update) {
    gan::optimizer_step({.kind = kind,
                         .lr = settings.lr,
                         .beta1 = settings.beta1,
                         .beta2 = settings.beta2,
                         .eps = settings.eps,
                         .weight_decay = settings.weight_decay},
                        settings.update,
                        {.weights = torch.weights,
                         .gradient = torch.gradient,
                         .first_moment = torch.first,
                         .second_moment = torch.second});
    const UpdateConstants constants = update_constants(settings);
    for (std::size_t i = 0; i < kElements; ++i) {
      adam_element(constants, own.gradient[i], own.weights[i], own.first[i], own.second[i]);
    }
  }
  if (__builtin_cpu_supports("fma") == 0) {
    GTEST_SKIP() << "this CPU has no FMA: LibTorch rounds more often here";
  }
  EXPECT_TRUE(same_bits(own.weights, torch.weights));
  EXPECT_TRUE(same_bits(own.first, torch.first));
  EXPECT_TRUE(same_bits(own.second, torch.second));
}

using Rule = UpdateSettings::Rule;
INSTANTIATE_TEST_SUITE_P(
    Settings, FusedAdam,
    testing::Values(Case{"Dcgan", {.lr = 2e-4, .beta1 = 0.5, .beta2 = 0.999}},
                    Case{"Default", {.lr = 1e-3}},
                    Case{"NoMomentum", {.lr = 2e-3, .beta1 = 0.0, .beta2 = 0.99}},
                    Case{"WeightDecay", {.lr = 1e-3, .weight_decay = 0.01}},
                    Case{"AdamW",
                         {.rule = Rule::kAdamW, .lr = 1e-3, .beta1 = 0.5, .weight_decay = 0.01}},
                    Case{"AdamWWithoutDecay", {.rule = Rule::kAdamW, .lr = 1e-3}}),
    [](const testing::TestParamInfo<Case>& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace gangway::comm
