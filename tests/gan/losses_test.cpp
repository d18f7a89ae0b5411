// SPDX-License-Identifier: MIT
#include "gan/losses/losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/losses/joins.hpp"

namespace gangway::gan {
namespace {

const std::vector<double> kLogits{-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.5};
const std::vector<double> kOthers{1.5, -2.0, 0.75, 0.0, -0.5, 3.0, -1.0};

at::Tensor column(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
}

at::Tensor loss(std::string_view name, const std::vector<std::vector<double>>& inputs) {
  std::vector<at::Tensor> logits;
  for (const std::vector<double>& values : inputs) {
    logits.push_back(column(values));
  }
  return loss_named(name)(logits);
}

double softplus(double x) { return std::log1p(std::exp(x)); }

template <typename Function>
double mean_of(const Function& function) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kLogits.size(); ++i) {
    sum += function(i);
  }
  return sum / static_cast<double>(kLogits.size());
}

void expect_equal(const at::Tensor& loss, double expected) {
  ASSERT_EQ(loss.dim(), 0);
  EXPECT_NEAR(loss.item<double>(), expected, 1e-12);
}

TEST(NonsaturatingLoss, IsTheLogisticLossOfGoodfellow) {
  expect_equal(loss("nonsaturating-real", {kLogits}),
               mean_of([](std::size_t i) { return softplus(-kLogits[i]); }));
  expect_equal(loss("nonsaturating-fake", {kLogits}),
               mean_of([](std::size_t i) { return softplus(kLogits[i]); }));
  expect_equal(loss("nonsaturating-generator", {kLogits}),
               mean_of([](std::size_t i) { return softplus(-kLogits[i]); }));
}

TEST(LeastSquaresLoss, PullsRealToOneAndGeneratedToZero) {
  const double to_one =
      mean_of([](std::size_t i) { return (kLogits[i] - 1.0) * (kLogits[i] - 1.0); });
  expect_equal(loss("least-squares-real", {kLogits}), to_one);
  expect_equal(loss("least-squares-fake", {kLogits}),
               mean_of([](std::size_t i) { return kLogits[i] * kLogits[i]; }));
  expect_equal(loss("least-squares-generator", {kLogits}), to_one);
}

TEST(HingeLoss, IsFlatBeyondTheMargin) {
  expect_equal(loss("hinge-real", {kLogits}),
               mean_of([](std::size_t i) { return std::max(0.0, 1.0 - kLogits[i]); }));
  expect_equal(loss("hinge-fake", {kLogits}),
               mean_of([](std::size_t i) { return std::max(0.0, 1.0 + kLogits[i]); }));
  expect_equal(loss("hinge-generator", {kLogits}),
               mean_of([](std::size_t i) { return -kLogits[i]; }));
}

TEST(WassersteinLoss, IsTheDifferenceOfMeans) {
  const double mean = mean_of([](std::size_t i) { return kLogits[i]; });
  expect_equal(loss("wasserstein-real", {kLogits}), -mean);
  expect_equal(loss("wasserstein-fake", {kLogits}), mean);
  expect_equal(loss("wasserstein-generator", {kLogits}), -mean);
}

TEST(RelativisticLoss, PairsEachRealImageWithAGeneratedOne) {
  expect_equal(loss("relativistic", {kLogits, kOthers}),
               mean_of([](std::size_t i) { return softplus(kOthers[i] - kLogits[i]); }));
}

TEST(Losses, AreKnownByTheirNames) {
  EXPECT_THROW(static_cast<void>(loss_named("relativistic-real")), InvariantError);
  EXPECT_THROW(static_cast<void>(loss_named("")), InvariantError);
}

TEST(Losses, AreFiniteForHugeLogits) {
  const std::vector<double> huge{-1e30, 1e30};
  EXPECT_TRUE(std::isfinite(loss("nonsaturating-real", {huge}).item<double>()));
  EXPECT_TRUE(std::isfinite(loss("relativistic", {huge, {1e30, -1e30}}).item<double>()));
}

/// Divergence of N(mean, deviation) from N(0, 1), by Simpson's rule over ten deviations each way.
double integrated_kl(double mean, double deviation) {
  const auto log_density = [](double x, double at, double width) {
    const double distance = (x - at) / width;
    return -0.5 * distance * distance - std::log(width * std::sqrt(2.0 * M_PI));
  };
  constexpr int kParts = 2000;
  const double part = 20.0 * deviation / kParts;
  double sum = 0.0;
  for (int i = 0; i <= kParts; ++i) {
    const double x = mean - 10.0 * deviation + part * i;
    const double one = log_density(x, mean, deviation);
    const double weight = i == 0 || i == kParts ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
    sum += weight * std::exp(one) * (one - log_density(x, 0.0, 1.0));
  }
  return sum * part / 3.0;
}

TEST(GaussianKl, IsTheDivergenceFromTheStandardNormal) {
  double sum = 0.0;
  std::vector<std::vector<double>> codes;
  for (const auto& [mean, deviation] : {std::pair(0.0, 1.0), {1.5, 0.2}, {-0.5, 3.0}}) {
    sum += integrated_kl(mean, deviation) + integrated_kl(-mean, 2.0 * deviation);
    codes.push_back({mean, -mean, 2.0 * std::log(deviation), 2.0 * std::log(2.0 * deviation)});
  }
  at::Tensor code = at::empty({3, 4}, at::kDouble);
  for (std::int64_t i = 0; i < 3; ++i) {
    code[i] = at::tensor(codes[static_cast<std::size_t>(i)], at::kDouble);
  }
  EXPECT_NEAR(loss_named("gaussian-kl")({&code, 1}).item<double>(), sum / 3.0, 1e-9);
}

TEST(Information, IsTheLikelihoodOfTheCodesUnderThePosterior) {
  // One category of three, one code: logits, mean, logarithm of the variance.
  const std::vector<at::Tensor> category{
      at::tensor({1.0, 2.0, 0.5, 9.0, 9.0, 0.0, 0.0, 0.0, 9.0, 9.0}, at::kDouble).view({2, 5}),
      at::tensor({0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, at::kDouble).view({2, 3})};
  const double first = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(0.5)) - 2.0;
  EXPECT_NEAR(loss_named("information-category")(category).item<double>(),
              (first + std::log(3.0)) / 2.0, 1e-12);
  const std::vector<at::Tensor> codes{
      at::tensor({9.0, 0.3, std::log(0.25), 9.0, -0.5, 0.0}, at::kDouble).view({2, 3}),
      at::tensor({0.8, 0.5}, at::kDouble).view({2, 1})};
  const double near = 0.5 * (0.25 / 0.25 + std::log(0.25));
  EXPECT_NEAR(loss_named("information-codes")(codes).item<double>(), (near + 0.5) / 2.0, 1e-3);
}

TEST(StyleLosses, AreTheDistancesOfJohnson) {
  const at::Tensor made =
      at::tensor({1.0, 2.0, 0.0, -1.0, 0.5, 0.5, 3.0, 1.0}, at::kDouble).view({2, 2, 1, 2});
  const std::vector<at::Tensor> features{made, at::zeros_like(made)};
  EXPECT_NEAR(loss_named("content")(features).item<double>(), (5.0 + 1.0 + 0.5 + 10.0) / 8.0,
              1e-12);
  const at::Tensor gram = join_named("gram")({features.data(), 1});
  const at::Tensor expected =
      at::tensor({5.0, -2.0, -2.0, 1.0, 0.5, 2.0, 2.0, 10.0}, at::kDouble).view({2, 2, 2}) / 4.0;
  EXPECT_LE((gram - expected).abs().max().item<double>(), 1e-12);
  const std::vector<at::Tensor> grams{gram, at::ones({1, 2, 2}, at::kDouble)};  // one style for all
  const double first = 0.0625 + 2.0 * 2.25 + 0.5625;
  const double second = 0.765625 + 2.0 * 0.25 + 2.25;
  EXPECT_NEAR(loss_named("style")(grams).item<double>(), (first + second) / 2.0, 1e-12);
}

TEST(StyleLosses, SumTheDifferencesOfNeighbours) {
  const std::vector<at::Tensor> made{
      at::tensor({1.0, 2.0, 0.0, -1.0, 5.0, 5.0, 5.0, 5.0}, at::kDouble).view({2, 1, 2, 2})};
  EXPECT_NEAR(loss_named("total-variation")(made).item<double>(), (1.0 + 1.0 + 1.0 + 9.0) / 2.0,
              1e-12);
}

TEST(Reconstruction, SumsOverAnExampleAndIsTheMeanOverExamples) {
  const std::vector<at::Tensor> images{at::tensor({0.5, -0.5, 0.0, 0.9}, at::kDouble).view({2, 2}),
                                       at::tensor({1.0, -1.0, 1.0, 0.0}, at::kDouble).view({2, 2})};
  EXPECT_NEAR(loss_named("reconstruction-squared")(images).item<double>(),
              0.5 * (0.25 + 0.25 + 1.0 + 0.81) / 2.0, 1e-12);
  EXPECT_NEAR(loss_named("reconstruction-absolute")(images).item<double>(),
              (0.5 + 0.5 + 1.0 + 0.9) / 2.0, 1e-12);
  const double shades = -std::log(0.75) - std::log(1.0 - 0.25) - std::log(0.5) -
                        0.5 * (std::log(0.95) + std::log(0.05));
  EXPECT_NEAR(loss_named("reconstruction-bernoulli")(images).item<double>(), shades / 2.0, 1e-12);
}

}  // namespace
}  // namespace gangway::gan
