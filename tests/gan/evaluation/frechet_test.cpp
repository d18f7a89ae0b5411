// SPDX-License-Identifier: MIT
#include "gan/evaluation/frechet.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

at::Tensor normals(std::uint64_t seed, at::IntArrayRef shape) {
  return keyed_normal({.seed = seed}, shape, at::kCPU).to(at::kDouble);
}

/// A covariance matrix of full rank, far from diagonal.
at::Tensor covariance(std::uint64_t seed, std::int64_t size) {
  const at::Tensor root = normals(seed, {size, size});
  return root.matmul(root.t()) / static_cast<double>(size);
}

TEST(FeatureStatistics, AreTheMeanAndTheUnbiasedCovariance) {
  const at::Tensor features =
      at::tensor({1.0, 2.0, 3.0, 6.0, 5.0, 1.0}, at::kDouble).reshape({3, 2});
  const FeatureStatistics statistics = feature_statistics(features.to(at::kFloat));
  EXPECT_DOUBLE_EQ(statistics.mean[0].item<double>(), 3.0);
  EXPECT_DOUBLE_EQ(statistics.mean[1].item<double>(), 3.0);
  EXPECT_DOUBLE_EQ(statistics.covariance[0][0].item<double>(), 4.0);
  EXPECT_DOUBLE_EQ(statistics.covariance[0][1].item<double>(), -1.0);
  EXPECT_DOUBLE_EQ(statistics.covariance[1][1].item<double>(), 7.0);
}

TEST(FrechetDistance, OfASetToItselfIsZero) {
  const FeatureStatistics a = feature_statistics(normals(1, {500, 128}) * 5.0);
  EXPECT_LT(std::abs(frechet_distance(a, a)), 1e-9);
}

TEST(FrechetDistance, OfASetToItselfIsZeroWhereFeaturesNeverVary) {
  at::Tensor features =
      normals(1, {60, 128}).relu();  // fewer examples than features, and zero features
  features.slice(1, 100, 128).zero_();
  const FeatureStatistics a = feature_statistics(features);
  EXPECT_LT(std::abs(frechet_distance(a, a)), 1e-6);
}

TEST(FrechetDistance, OfOneDimensionIsThatOfTheParameters) {
  const auto gaussian = [](double mean, double deviation) {
    return FeatureStatistics{at::full({1}, mean, at::kDouble),
                             at::full({1, 1}, deviation * deviation, at::kDouble)};
  };
  EXPECT_NEAR(frechet_distance(gaussian(1.0, 2.0), gaussian(4.0, 0.5)), 9.0 + 1.5 * 1.5, 1e-12);
}

TEST(FrechetDistance, OfCommutingCovariancesIsThatOfTheirRoots) {
  const auto [ignored, vectors] = at::linalg_eigh(covariance(3, 20));
  const at::Tensor a = at::linspace(0.1, 4.0, 20, at::kDouble);
  const at::Tensor b = at::linspace(3.0, 0.2, 20, at::kDouble);
  const at::Tensor shift = normals(4, {20});
  const FeatureStatistics first{at::zeros({20}, at::kDouble), (vectors * a).matmul(vectors.t())};
  const FeatureStatistics second{shift, (vectors * b).matmul(vectors.t())};
  const double expected =
      shift.square().sum().item<double>() + (a.sqrt() - b.sqrt()).square().sum().item<double>();
  EXPECT_NEAR(frechet_distance(first, second), expected, 1e-10);
}

// In two dimensions tr((S1 S2)^(1/2)) = sqrt(tr(S1 S2) + 2 sqrt(det(S1 S2))), by the theorem of
// Cayley and Hamilton.
TEST(FrechetDistance, OfTwoDimensionsHasAClosedForm) {
  const FeatureStatistics a{normals(5, {2}), covariance(6, 2)};
  const FeatureStatistics b{normals(7, {2}), covariance(8, 2)};
  const at::Tensor product = a.covariance.matmul(b.covariance);
  const double determinant = product[0][0].item<double>() * product[1][1].item<double>() -
                             product[0][1].item<double>() * product[1][0].item<double>();
  const double expected =
      (a.mean - b.mean).square().sum().item<double>() + a.covariance.trace().item<double>() +
      b.covariance.trace().item<double>() -
      2.0 * std::sqrt(product.trace().item<double>() + 2.0 * std::sqrt(determinant));
  EXPECT_NEAR(frechet_distance(a, b), expected, 1e-10);
}

TEST(FrechetDistance, IsSymmetric) {
  const FeatureStatistics a{normals(9, {30}), covariance(10, 30)};
  const FeatureStatistics b{normals(11, {30}), covariance(12, 30)};
  EXPECT_GT(frechet_distance(a, b), 1.0);
  EXPECT_NEAR(frechet_distance(a, b), frechet_distance(b, a), 1e-10);
}

}  // namespace
}  // namespace gangway::gan
