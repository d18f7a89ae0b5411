// SPDX-License-Identifier: MIT
#include "gan/evaluation/class_shares.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

TEST(ClassShares, CountTheLikeliestClassOfEachExample) {
  LeNet lenet;
  lenet.initialise(3);
  const at::Tensor features = keyed_uniform({.seed = 1}, {300, LeNet::kFeatures}, at::kCPU);
  const ClassShares shares = class_shares(lenet, features);
  const at::NoGradGuard no_grad;
  ClassShares expected{};
  for (std::int64_t i = 0; i < features.size(0); ++i) {
    const at::Tensor logits = lenet.logits(features.slice(0, i, i + 1)).contiguous();
    const float* first = logits.const_data_ptr<float>();
    const auto likeliest = std::max_element(first, first + LeNet::kClasses) - first;
    expected.at(static_cast<std::size_t>(likeliest)) += 1.0 / 300.0;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_NEAR(shares.at(i), expected.at(i), 1e-12) << kClothes.at(i);
  }
}

TEST(ClassShares, OfAClassThatNobodyShowsIsZero) {
  LeNet lenet;
  lenet.initialise(3);
  const at::Tensor same = keyed_uniform({.seed = 1}, {1, LeNet::kFeatures}, at::kCPU);
  ClassShares shares = class_shares(lenet, same.expand({20, LeNet::kFeatures}).contiguous());
  std::sort(shares.begin(), shares.end());
  EXPECT_EQ(shares.back(), 1.0);
  EXPECT_EQ(shares[shares.size() - 2], 0.0);
}

TEST(ClassShares, TellHowManyShowTheClassThatWasAskedFor) {
  LeNet lenet;
  lenet.initialise(3);
  const at::Tensor features = keyed_uniform({.seed = 1}, {40, LeNet::kFeatures}, at::kCPU);
  const at::NoGradGuard no_grad;
  const at::Tensor likeliest = lenet.logits(features).argmax(1);
  EXPECT_EQ(right_class_share(lenet, features, likeliest), 1.0);
  const at::Tensor asked = at::cat({likeliest.slice(0, 0, 10), (likeliest.slice(0, 10) + 1) % 10});
  EXPECT_EQ(right_class_share(lenet, features, asked), 0.25);
}

}  // namespace
}  // namespace gangway::gan
