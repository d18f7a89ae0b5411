// SPDX-License-Identifier: MIT
#include "gan/evaluation/likeness.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace gangway::gan {
namespace {

TEST(Likeness, OfEqualPicturesIsOne) {
  const at::Tensor pictures = at::arange(2 * 3 * 16 * 16, at::kFloat).sin().reshape({2, 3, 16, 16});
  EXPECT_LE((structural_similarities(pictures, pictures) - 1.0).abs().max().item<double>(), 1e-12);
  EXPECT_EQ(absolute_differences(pictures, pictures).abs().max().item<double>(), 0.0);
}

TEST(Likeness, OfEvenShadesIsThatOfTheirMeans) {
  const at::Tensor black = at::full({1, 1, 16, 16}, -1.0);
  const at::Tensor grey = at::full({1, 1, 16, 16}, 0.0);
  const double constant = 0.01 * 255 * 0.01 * 255;
  EXPECT_NEAR(structural_similarities(black, grey).item<double>(),
              constant / (127.5 * 127.5 + constant), 1e-9);
  EXPECT_DOUBLE_EQ(absolute_differences(black, grey).item<double>(), 127.5);
}

TEST(Likeness, IsTheFormulaOnOneWindow) {  // Wang et al., 2004, eq. 13 to 16
  std::array<double, 121> x{};
  std::array<double, 121> y{};
  std::array<double, 121> weight{};
  double total = 0.0;
  at::Tensor one = at::empty({1, 1, 11, 11}, at::kDouble);
  at::Tensor other = at::empty({1, 1, 11, 11}, at::kDouble);
  for (int i = 0; i < 121; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int down = i / 11 - 5;
    const int right = i % 11 - 5;
    weight[at] = std::exp(-(down * down + right * right) / 4.5);
    total += weight[at];
    x[at] = 127.5 + 100.0 * std::sin(i);
    y[at] = 127.5 + 80.0 * std::sin(i + 0.3);
    one.mutable_data_ptr<double>()[i] = x[at] / 127.5 - 1.0;
    other.mutable_data_ptr<double>()[i] = y[at] / 127.5 - 1.0;
  }
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += weight[i] / total * x[i];
    mean_y += weight[i] / total * y[i];
  }
  double variance_x = 0.0;
  double variance_y = 0.0;
  double covariance = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance_x += weight[i] / total * (x[i] - mean_x) * (x[i] - mean_x);
    variance_y += weight[i] / total * (y[i] - mean_y) * (y[i] - mean_y);
    covariance += weight[i] / total * (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double first = 2.55 * 2.55;
  const double second = 7.65 * 7.65;
  const double expected =
      (2 * mean_x * mean_y + first) * (2 * covariance + second) /
      ((mean_x * mean_x + mean_y * mean_y + first) * (variance_x + variance_y + second));
  EXPECT_NEAR(structural_similarities(one, other).item<double>(), expected, 1e-9);
  EXPECT_LT(expected, 0.99);
}

}  // namespace
}  // namespace gangway::gan
