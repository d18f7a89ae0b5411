// SPDX-License-Identifier: MIT
#include "gan/evaluation/modes/toy_modes.hpp"

#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace gangway::gan {
namespace {

std::vector<float> points_of(const data::ToyMixture& mixture, std::int64_t count) {
  const data::ToyDataset dataset(mixture, 4);
  std::vector<float> points(static_cast<std::size_t>(count) * 2);
  for (std::int64_t i = 0; i < count; ++i) {
    (void)dataset.read(i, std::span(points).subspan(static_cast<std::size_t>(i) * 2, 2));
  }
  return points;
}

TEST(ToyModes, TheDataItselfCoversAllModesAndIs989PercentGood) {
  for (const char* name : {"ring8", "grid25"}) {
    const data::ToyMixture mixture = *data::toy_mixture(name);
    const ToyModes result = count_toy_modes(mixture, points_of(mixture, 10'000));
    EXPECT_EQ(result.modes, static_cast<int>(mixture.centres.size()));
    EXPECT_EQ(result.covered, result.modes);
    EXPECT_NEAR(result.good_share, 0.9889, 0.004);  // 1 - exp(-9/2), four standard errors
  }
}

TEST(ToyModes, ACollapsedGeneratorCoversOne) {
  const data::ToyMixture mixture = *data::toy_mixture("ring8");
  std::vector<float> points;
  for (int i = 0; i < 1000; ++i) {
    points.insert(points.end(), {mixture.centres[3][0], mixture.centres[3][1]});
  }
  const ToyModes result = count_toy_modes(mixture, points);
  EXPECT_EQ(result.covered, 1);
  EXPECT_EQ(result.good_share, 1.0);
}

TEST(ToyModes, AStraySampleDoesNotCoverAMode) {
  const data::ToyMixture mixture = *data::toy_mixture("ring8");
  std::vector<float> points;
  for (int i = 0; i < 1600; ++i) {  // 1 % of a mode's share is 2 samples
    points.insert(points.end(), {mixture.centres[0][0], mixture.centres[0][1]});
  }
  points[0] = mixture.centres[1][0];
  points[1] = mixture.centres[1][1];
  EXPECT_EQ(count_toy_modes(mixture, points).covered, 1);
  points[2] = mixture.centres[1][0];
  points[3] = mixture.centres[1][1];
  EXPECT_EQ(count_toy_modes(mixture, points).covered, 2);
}

TEST(ToyModes, APointBetweenTheModesIsNotGood) {
  const data::ToyMixture mixture = *data::toy_mixture("ring8");
  const float sigma = mixture.sigma;
  const std::vector<float> points{0.0F,
                                  0.0F,
                                  mixture.centres[0][0] + 2.9F * sigma,
                                  mixture.centres[0][1],
                                  mixture.centres[0][0] + 3.1F * sigma,
                                  mixture.centres[0][1]};
  EXPECT_NEAR(count_toy_modes(mixture, points).good_share, 1.0 / 3.0, 1e-12);
}

TEST(ToyModes, NoPointsCoverNothing) {
  const ToyModes result = count_toy_modes(*data::toy_mixture("grid25"), {});
  EXPECT_EQ(result.covered, 0);
  EXPECT_EQ(result.good_share, 0.0);
}

}  // namespace
}  // namespace gangway::gan
