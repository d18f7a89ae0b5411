// SPDX-License-Identifier: MIT
#include "gan/losses.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::gan {
namespace {

const std::vector<double> kLogits{-3.0, -1.0, -0.25, 0.0, 0.5, 1.0, 2.5};
const std::vector<double> kOthers{1.5, -2.0, 0.75, 0.0, -0.5, 3.0, -1.0};

at::Tensor column(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).unsqueeze(1);
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
  const LossKind kind = LossKind::kNonsaturating;
  expect_equal(discriminator_real_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return softplus(-kLogits[i]); }));
  expect_equal(discriminator_fake_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return softplus(kLogits[i]); }));
  expect_equal(generator_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return softplus(-kLogits[i]); }));
}

TEST(LeastSquaresLoss, PullsRealToOneAndGeneratedToZero) {
  const LossKind kind = LossKind::kLeastSquares;
  const double to_one =
      mean_of([](std::size_t i) { return (kLogits[i] - 1.0) * (kLogits[i] - 1.0); });
  expect_equal(discriminator_real_loss(kind, column(kLogits)), to_one);
  expect_equal(discriminator_fake_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return kLogits[i] * kLogits[i]; }));
  expect_equal(generator_loss(kind, column(kLogits)), to_one);
}

TEST(HingeLoss, IsFlatBeyondTheMargin) {
  const LossKind kind = LossKind::kHinge;
  expect_equal(discriminator_real_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return std::max(0.0, 1.0 - kLogits[i]); }));
  expect_equal(discriminator_fake_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return std::max(0.0, 1.0 + kLogits[i]); }));
  expect_equal(generator_loss(kind, column(kLogits)),
               mean_of([](std::size_t i) { return -kLogits[i]; }));
}

TEST(WassersteinLoss, IsTheDifferenceOfMeans) {
  const LossKind kind = LossKind::kWasserstein;
  const double mean = mean_of([](std::size_t i) { return kLogits[i]; });
  expect_equal(discriminator_real_loss(kind, column(kLogits)), -mean);
  expect_equal(discriminator_fake_loss(kind, column(kLogits)), mean);
  expect_equal(generator_loss(kind, column(kLogits)), -mean);
}

TEST(RelativisticLoss, PairsEachRealImageWithAGeneratedOne) {
  expect_equal(relativistic_loss(column(kLogits), column(kOthers)),
               mean_of([](std::size_t i) { return softplus(kOthers[i] - kLogits[i]); }));
}

TEST(RelativisticLoss, IsNoLossOfOneKindOfImagesAlone) {
  EXPECT_THROW(static_cast<void>(discriminator_real_loss(LossKind::kRelativistic, column(kLogits))),
               InvariantError);
  EXPECT_THROW(static_cast<void>(discriminator_fake_loss(LossKind::kRelativistic, column(kLogits))),
               InvariantError);
  EXPECT_THROW(static_cast<void>(generator_loss(LossKind::kRelativistic, column(kLogits))),
               InvariantError);
}

TEST(Losses, AreFiniteForHugeLogits) {
  const at::Tensor huge = column({-1e30, 1e30});
  EXPECT_TRUE(
      std::isfinite(discriminator_real_loss(LossKind::kNonsaturating, huge).item<double>()));
  EXPECT_TRUE(std::isfinite(relativistic_loss(huge, -huge).item<double>()));
}

}  // namespace
}  // namespace gangway::gan
