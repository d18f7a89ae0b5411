// SPDX-License-Identifier: MIT
#include "gan/evaluation/modes/stacked_modes.hpp"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

constexpr std::array<double, LeNet::kClasses> kAlike = {0.1, 0.1, 0.1, 0.1, 0.1,
                                                        0.1, 0.1, 0.1, 0.1, 0.1};

TEST(StackedModes, OfAllAlikeAreAThousandWithoutDivergence) {
  ModeCounts counts;
  counts.fill(7);
  const StackedModes found = stacked_modes(counts, kAlike);
  EXPECT_EQ(found.covered, 1000);
  EXPECT_NEAR(found.from_uniform, 0.0, 1e-12);
  EXPECT_NEAR(found.from_real, 0.0, 1e-12);
}

TEST(StackedModes, OfOneModeDivergeByTheLogarithmOfTheirNumber) {
  ModeCounts counts{};
  counts.at(123) = 50;
  EXPECT_EQ(stacked_modes(counts, kAlike).covered, 1);
  EXPECT_NEAR(stacked_modes(counts, kAlike).from_uniform, std::log(1000.0), 1e-12);
  std::array<double, LeNet::kClasses> shares = kAlike;
  shares.at(1) = 0.05;  // first, second and third channel have different shares
  shares.at(2) = 0.2;
  shares.at(3) = 0.3;
  EXPECT_NEAR(stacked_modes(counts, shares).from_real, -std::log(0.05 * 0.2 * 0.3), 1e-12);
}

TEST(StackedModes, AreCountedByTheClassesOfTheChannels) {
  LeNet lenet;
  lenet.initialise(3);
  constexpr std::int64_t kCount = 260;  // more than one batch
  const at::Tensor pictures = keyed_normal({.seed = 4}, {kCount, 3, 32, 32}, at::kCPU) *
                              keyed_normal({.seed = 5}, {kCount, 3, 1, 1}, at::kCPU).mul(3.0);
  const ModeCounts counts = count_stacked_modes(
      lenet,
      [&](std::int64_t first, std::int64_t count) {
        return pictures.slice(0, first, first + count);
      },
      kCount);
  const at::NoGradGuard no_grad;
  ModeCounts expected{};
  for (std::int64_t i = 0; i < kCount; ++i) {
    std::int64_t mode = 0;
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      const at::Tensor one = pictures[i].slice(0, channel, channel + 1).unsqueeze(0);
      mode =
          10 * mode + lenet.logits(lenet.features(lenet_input(one))).argmax(1).item<std::int64_t>();
    }
    ++expected.at(static_cast<std::size_t>(mode));
  }
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), kCount);
}

}  // namespace
}  // namespace gangway::gan
