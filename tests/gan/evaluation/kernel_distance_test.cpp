// SPDX-License-Identifier: MIT
#include "gan/evaluation/kernel_distance.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

at::Tensor normal_rows(std::uint64_t seed, std::int64_t rows, std::int64_t size) {
  return keyed_normal({.seed = seed}, {rows, size}, at::kCPU);
}

at::Tensor rows_of(const std::vector<double>& values, std::int64_t size) {
  return at::tensor(values, at::kDouble).reshape({-1, size});
}

TEST(SquaredMmd, IsThatByHand) {
  // Kernels: 1 for 0 and 2; 64 for 1 and 3; 1, 1, 27 and 343 between both sides.
  EXPECT_DOUBLE_EQ(squared_mmd(rows_of({0.0, 2.0}, 1), rows_of({1.0, 3.0}, 1)),
                   1.0 + 64.0 - 2.0 * 93.0);
  EXPECT_DOUBLE_EQ(squared_mmd(rows_of({1.0, 1.0, 1.0, -1.0}, 2), rows_of({1.0, 0.0, 0.0, 1.0}, 2)),
                   1.0 + 1.0 - 2.0 * 2.5625);
}

TEST(KernelDistance, OfTwoGaussiansIsItsClosedForm) {
  // E k = E x^3 E y^3 + 3 E x^2 E y^2 + 3 E x E y + 1; the moments of N(0, 1) are 0, 1, 0, those of
  // N(1, 1) are 1, 2, 4: 4 + 32 - 2 * 7.
  const KernelDistance found =
      kernel_distance(normal_rows(1, 20'000, 1), normal_rows(2, 20'000, 1) + 1.0);
  EXPECT_NEAR(found.mean, 22.0, 3.0);
  EXPECT_GT(found.deviation, 0.5);
  EXPECT_LT(found.deviation, 6.0);
}

TEST(KernelDistance, OfSetsOfOneKindIsNoiseAroundZero) {
  const KernelDistance found = kernel_distance(normal_rows(1, 3000, 16), normal_rows(2, 3000, 16));
  EXPECT_LT(std::abs(found.mean), 3.0 * found.deviation);
  EXPECT_GT(kernel_distance(normal_rows(1, 3000, 16), normal_rows(2, 3000, 16) + 0.3).mean,
            10.0 * found.deviation);
}

TEST(KernelDistance, OfOnePartThatIsEverythingIsTheEstimateItself) {
  const at::Tensor a = normal_rows(1, 50, 4);
  const at::Tensor b = normal_rows(2, 70, 4) * 1.5;
  const KernelDistance found = kernel_distance(a, b, {.count = 1, .size = 1000});
  EXPECT_NEAR(found.mean, squared_mmd(a, b), 1e-12);
  EXPECT_EQ(found.deviation, 0.0);
}

TEST(KernelDistance, DependsOnTheSeedOfItsPartsAndOnNothingElse) {
  const at::Tensor a = normal_rows(1, 500, 4);
  const at::Tensor b = normal_rows(2, 500, 4);
  const KernelSubsets parts{.count = 5, .size = 50, .seed = 1};
  EXPECT_EQ(kernel_distance(a, b, parts).mean, kernel_distance(a, b, parts).mean);
  EXPECT_NE(kernel_distance(a, b, parts).mean,
            kernel_distance(a, b, {.count = 5, .size = 50, .seed = 2}).mean);
}

}  // namespace
}  // namespace gangway::gan
