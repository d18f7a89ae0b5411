// SPDX-License-Identifier: MIT
// The networks of style transfer, counted by hand after the supplementary material of Johnson et
// al., 2016, and PyTorch's example (github.com/pytorch/examples, fast_neural_style).
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/families/family_networks.hpp"
#include "tests/job/families/blocks_of.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

ModelSpec johnson_model(int width, int blocks, int channels) {
  return {.family = family_named("johnson"),
          .resolution = 32,
          .width = width,
          .blocks = blocks,
          .channels = channels,
          .normalization = Normalization::kNone};
}

TEST(JohnsonSizes, AreThePublishedOnes) {
  EXPECT_EQ(num_parameters(johnson_translator(johnson_model(32, 5, 3))), 1'679'235);
}

TEST(JohnsonSizes, OfTheFeaturesAreThoseOfLenetsConvolutions) {
  ModelSpec model = johnson_model(8, 2, 3);  // grey input for any number of channels
  EXPECT_EQ(num_parameters(lenet_features(model)), 16 * 25 + 16 + 32 * 16 * 25 + 32);
  model.levels = 1;
  EXPECT_EQ(num_parameters(lenet_features(model)), 16 * 25 + 16);
  EXPECT_EQ(lenet_features(model).levels, std::vector<std::string>{"level0"});
}

TEST(JohnsonBlocks, LetEachLevelGoOnToTheEnd) {
  const Architecture features = lenet_features(johnson_model(8, 2, 1));
  const std::vector<BlockPorts> ports = testing::ports_in(features);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ports.front().inputs, Names{"image"});
  EXPECT_EQ(features.levels, (Names{"level0", "level1"}));
  EXPECT_EQ(live_after(ports, features.levels),
            (std::vector<Names>{{"features", "level0"}, {"level0", "level1"}}));
}

TEST(JohnsonMemory, GrowsWithPixelsWidthAndBlocks) {
  const auto elements = [](int width, int blocks, int resolution) {
    ModelSpec model = johnson_model(width, blocks, 1);
    model.resolution = resolution;
    return johnson_feature_elements(model);
  };
  EXPECT_EQ(elements(8, 2, 32), 1024 * (8 * (13 + 2 * 2) / 2 + 2));
  EXPECT_EQ(elements(8, 2, 64), 4 * elements(8, 2, 32));
  EXPECT_GT(elements(16, 2, 32), elements(8, 2, 32));
  EXPECT_GT(elements(8, 3, 32), elements(8, 2, 32));
}

}  // namespace
}  // namespace gangway
