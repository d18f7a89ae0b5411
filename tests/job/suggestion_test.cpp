// SPDX-License-Identifier: MIT
#include "job/suggestion.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

const std::vector<std::string> kPaths = {
    "model.width",         "generator.optimizer.adam.lr",     "training.kimg",
    "discriminator.steps", "discriminator.optimizer.adam.lr", "training"};

TEST(Suggestion, CountsEditsWithSwapsAsOne) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("kimg", ""), 4);
  EXPECT_EQ(edit_distance("kimg", "kimgs"), 1);
  EXPECT_EQ(edit_distance("kmig", "kimg"), 1);
  EXPECT_EQ(edit_distance("width", "wdith"), 1);
  EXPECT_EQ(edit_distance("batch", "beach"), 2);
}

TEST(Suggestion, FindsTheNearestPath) {
  EXPECT_EQ(nearest_path("training.kimgs", kPaths), "training.kimg");
  EXPECT_EQ(nearest_path("trianing", kPaths), "training");
}

TEST(Suggestion, FindsAKeyThatStandsInAnotherSection) {
  EXPECT_EQ(nearest_path("kimg", kPaths), "training.kimg");
  EXPECT_EQ(nearest_path("training.lr", kPaths), "generator.optimizer.adam.lr");
}

TEST(Suggestion, PrefersTheSameSection) {
  EXPECT_EQ(nearest_path("discriminator.lr", kPaths), "discriminator.optimizer.adam.lr");
}

TEST(Suggestion, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_path("training.colour", kPaths), std::nullopt);
  EXPECT_EQ(nearest_path("xx", kPaths), std::nullopt);
  EXPECT_EQ(nearest_path(std::string(1000, 'k'), kPaths), std::nullopt);
}

}  // namespace
}  // namespace gangway
