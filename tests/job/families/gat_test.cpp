// SPDX-License-Identifier: MIT
// Blocks of GAT's networks, counted by hand after the authors' modules
// (github.com/hse1032/GAT, models/).
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "job/families/family_networks.hpp"
#include "tests/job/families/blocks_of.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using testing::blocks_of;
using testing::ports_in;
using testing::Sizes;
using testing::sizes_of;

ModelSpec gat_model(int width, int blocks, int classes = 0) {
  return {.family = family_named("gat"),
          .resolution = 32,
          .width = width,
          .blocks = blocks,
          .patch = 4,
          .latent = 64,
          .channels = 1,
          .classes = classes,
          .normalization = Normalization::kNone};
}

/// A linear map and its bias.
std::int64_t linear_count(std::int64_t in, std::int64_t out) { return out * in + out; }

/// Parameters of a layer: query, key, value; two gains per head; output map; MLP.
std::int64_t layer_count(std::int64_t width, std::int64_t head, std::int64_t hidden) {
  return linear_count(width, 3 * width) + 2 * head + linear_count(width, width) +
         linear_count(width, 2 * hidden) + linear_count(hidden, width);
}

TEST(GatSizes, AddUpByHand) {
  const std::int64_t pixels = 4 * 4;
  const std::int64_t both = layer_count(64, 32, 170);
  const std::int64_t generator = linear_count(64, 64) + linear_count(64, 64)  // the style's mapping
                                 + 64 * 64                                    // positions
                                 + 4 * (both + linear_count(64, 4 * 64))  // layers and their gains
                                 +
                                 4 * (linear_count(64, 64) + linear_count(64, pixels));  // pictures
  const std::int64_t discriminator =
      linear_count(4 * pixels, 64) + 64 * 64 + 64 + 4 * (both + 4 * 64) + 64 + linear_count(64, 1);
  EXPECT_EQ(sizes_of(gat_model(64, 4)), Sizes(generator, discriminator));
  EXPECT_EQ(sizes_of(gat_model(64, 4)), Sizes(298'768, 208'465));
  // Labels add an embedding beside the noise, and 64 features and an embedding instead of a logit.
  EXPECT_EQ(sizes_of(gat_model(64, 4, 10)),
            Sizes(generator + 64 * 64 + 10 * 64,
                  discriminator - linear_count(64, 1) + linear_count(64, 64) + 10 * 64));
}

TEST(GatSizes, AreTheAuthorsOnTheirCodes) {  // B/2: four channels of 32x32, 1,000 classes
  ModelSpec model = gat_model(768, 12, 1000);
  model.channels = 4;
  model.patch = 2;
  const std::int64_t generator = linear_count(128, 768) + linear_count(768, 768) + 1000 * 64 +
                                 256 * 768 +
                                 12 * (layer_count(768, 64, 2048) + linear_count(768, 4 * 768)) +
                                 4 * (linear_count(768, 768) + linear_count(768, 16));
  EXPECT_EQ(num_parameters(gat_generator(model)), generator);
  const std::vector<TransformerSpec> layers = blocks_of<TransformerSpec>(gat_discriminator(model));
  ASSERT_EQ(layers.size(), 12U);
  EXPECT_EQ(layers.front().heads, 12);
  EXPECT_EQ(layers.front().hidden, 2048);
}

TEST(GatBlocks, MakePicturesAtTheEndsOfFourEqualParts) {
  const auto places = [](int blocks) {  // layers before each picture
    std::vector<int> found;
    int layers = 0;
    for (const BlockSpec& block : gat_generator(gat_model(32, blocks)).blocks) {
      layers += std::holds_alternative<TransformerSpec>(block) ? 1 : 0;
      if (const auto* picture = std::get_if<PatchPictureSpec>(&block)) {
        EXPECT_EQ(picture->depth, static_cast<int>(found.size()));
        found.push_back(layers);
        EXPECT_EQ(picture->is_last, layers == blocks);
      }
    }
    return found;
  };
  EXPECT_EQ(places(1), (std::vector<int>{1}));
  EXPECT_EQ(places(3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(places(6), (std::vector<int>{2, 3, 5, 6}));
  EXPECT_EQ(places(12), (std::vector<int>{3, 6, 9, 12}));
  EXPECT_EQ(std::get<PatchEmbeddingSpec>(gat_discriminator(gat_model(32, 3)).blocks.front()).depths,
            3);
}

TEST(GatBlocks, HaveHeadsAtAnyWidth) {
  for (const auto& [width, heads] :
       {std::pair(1, 1), std::pair(12, 1), std::pair(64, 2), std::pair(100, 2), std::pair(255, 5),
        std::pair(256, 4), std::pair(384, 6), std::pair(1152, 18)}) {
    EXPECT_EQ(blocks_of<TransformerSpec>(gat_generator(gat_model(width, 1))).front().heads, heads)
        << width;
  }
}

TEST(GatBlocks, PassTheStyleAndPicturesToThoseThatTakeThem) {
  const Architecture generator = gat_generator(gat_model(32, 2, 10));
  const std::vector<BlockPorts> ports = ports_in(generator);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ports.front().inputs, (Names{"noise", "labels"}));
  const auto live = live_after(ports, "features");
  EXPECT_EQ(live, (std::vector<Names>{{"style"},
                                      {"features", "style"},
                                      {"features", "style"},
                                      {"features", "pictures", "style"},
                                      {"features", "pictures", "style"},
                                      {"features"}}));
}

}  // namespace
}  // namespace gangway
