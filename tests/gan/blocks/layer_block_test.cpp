// SPDX-License-Identifier: MIT
#include "gan/blocks/layer_block.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"
#include "tests/gan/statistic_sums.hpp"

namespace gangway::gan {
namespace {

LayerSpec dense_with_norm() { return {.in = 6, .out = 4, .batch_norm = true}; }

/// Fills the block with weights that are not trivial, and initial statistics.
void fill(Block& block) {
  const at::NoGradGuard no_grad;
  std::int32_t position = 0;
  for (Parameter& parameter : block.parameters()) {
    parameter.tensor.copy_(
        keyed_normal({.seed = 1, .block = position++}, parameter.tensor.sizes(), at::kCPU));
  }
}

at::Tensor input(std::int64_t count) { return keyed_normal({.seed = 2}, {count, 6}, at::kCPU); }

at::Tensor forward(Block& block, const at::Tensor& x, const ForwardContext& context) {
  const at::NoGradGuard no_grad;
  return block.forward({{"features", x}}, context).at("features");
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

TEST(BatchNorm, HarvestsTheMeanAndTheUnbiasedVarianceOfTheMicroBatch) {
  LayerBlock block(dense_with_norm());
  fill(block);
  const at::Tensor x = input(32);
  StatisticSums sums;
  forward(block, x, {.sink = &sums});
  const at::Tensor linear = at::linear(x, block.parameters()[0].tensor.detach()).to(at::kDouble);
  EXPECT_LT(largest_difference(sums.of(block.statistics()[0]), linear.mean(0)), 1e-6);
  EXPECT_LT(largest_difference(sums.of(block.statistics()[1]), linear.var(0, /*unbiased=*/true)),
            1e-5);
}

TEST(BatchNorm, LeavesItsRunningValuesToWhoeverFoldsTheHarvests) {
  LayerBlock block(dense_with_norm());
  fill(block);
  StatisticSums sums;
  forward(block, input(32), {.sink = &sums});
  EXPECT_TRUE(block.statistics()[0].running.eq(0.0).all().item<bool>());
  EXPECT_TRUE(block.statistics()[1].running.eq(1.0).all().item<bool>());
}

TEST(BatchNorm, GivesTheSameBitsWithAndWithoutHarvest) {
  LayerBlock block(dense_with_norm());
  fill(block);
  StatisticSums sums;
  const at::Tensor with = forward(block, input(32), {.sink = &sums});
  const at::Tensor without = forward(block, input(32), {});
  EXPECT_TRUE(with.equal(without));
}

TEST(BatchNorm, UsesTheRunningValuesInEvaluation) {
  LayerBlock block(dense_with_norm());
  fill(block);
  Statistic& mean = block.statistics()[0];
  Statistic& variance = block.statistics()[1];
  mean.running.copy_(keyed_normal({.seed = 3}, {4}, at::kCPU));
  variance.running.copy_(keyed_uniform({.seed = 4}, {4}, at::kCPU) + 0.5);
  const at::Tensor x = input(3);
  const at::Tensor y = forward(block, x, {.mode = Mode::kEvaluation});
  const at::Tensor linear = at::linear(x, block.parameters()[0].tensor.detach());
  const at::Tensor expected = (linear - mean.running) / (variance.running + 1e-5).sqrt() *
                                  block.parameters()[1].tensor.detach() +
                              block.parameters()[2].tensor.detach();
  EXPECT_LT(largest_difference(y, expected), 1e-5);
}

TEST(BatchNorm, ShowsAnExampleAloneAsInABatchWhenEvaluating) {
  LayerBlock block(dense_with_norm());
  fill(block);
  const at::Tensor x = input(8);
  const at::Tensor together = forward(block, x, {.mode = Mode::kEvaluation});
  const at::Tensor alone = forward(block, x.slice(0, 5, 6), {.mode = Mode::kEvaluation});
  EXPECT_LT(largest_difference(together.slice(0, 5, 6), alone), 1e-6);
}

TEST(Dropout, IsKeyedScaledAndOffInEvaluation) {
  LayerBlock block({.in = 6, .out = 2000, .dropout = 0.25});
  fill(block);
  const at::Tensor x = input(8);
  const at::Tensor full = forward(block, x, {.mode = Mode::kEvaluation});
  const at::Tensor one = forward(block, x, {.key = {.seed = 1, .step = 10}});
  const at::Tensor again = forward(block, x, {.key = {.seed = 1, .step = 10}});
  const at::Tensor other = forward(block, x, {.key = {.seed = 1, .step = 11}});
  EXPECT_TRUE(one.equal(again));
  EXPECT_FALSE(one.equal(other));
  const at::Tensor kept = one.ne(0.0);
  EXPECT_NEAR(kept.to(at::kDouble).mean().item<double>(), 0.75,
              4.0 * std::sqrt(0.25 * 0.75 / 16'000.0));
  EXPECT_LT(largest_difference(one, at::where(kept, full / 0.75, at::zeros_like(full))), 1e-4);
}

TEST(Activation, IsTheNamedFunction) {
  const at::Tensor x = at::tensor({-2.0, -0.5, 0.0, 0.5, 2.0}, at::kFloat).unsqueeze(1);
  const auto activated = [&](Activation kind) {
    LayerBlock block({.in = 1, .out = 1, .activation = kind});
    const at::NoGradGuard no_grad;
    block.parameters()[0].tensor.fill_(1.0);
    return forward(block, x, {});
  };
  EXPECT_TRUE(activated(Activation::kNone).equal(x));
  EXPECT_TRUE(activated(Activation::kRelu).equal(x.clamp_min(0.0)));
  EXPECT_LT(largest_difference(activated(Activation::kLeakyRelu), at::where(x.gt(0.0), x, x * 0.2)),
            1e-7);
  EXPECT_LT(largest_difference(activated(Activation::kSoftplus), x.exp().log1p()), 1e-6);
  EXPECT_LT(largest_difference(activated(Activation::kTanh), x.tanh()), 1e-7);
}

}  // namespace
}  // namespace gangway::gan
