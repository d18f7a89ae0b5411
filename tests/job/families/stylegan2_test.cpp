// SPDX-License-Identifier: MIT
// Blocks of StyleGAN2's networks. Published sizes were counted by hand after the authors' modules
// (github.com/NVlabs/stylegan2-ada-pytorch, training/networks.py), without their buffers.
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

ModelSpec stylegan2_model(int resolution, int width, int latent = 512, int classes = 0) {
  return {.family = family_named("stylegan2"),
          .resolution = resolution,
          .width = width,
          .latent = latent,
          .channels = 3,
          .classes = classes,
          .normalization = Normalization::kNone};
}

TEST(Stylegan2Sizes, AreThePublishedOnes) {
  EXPECT_EQ(sizes_of(stylegan2_model(256, 64)), Sizes(24'767'458, 24'001'089));  // paper256
  EXPECT_EQ(sizes_of(stylegan2_model(256, 128)), Sizes(30'034'338, 28'864'129));
  // Configuration F at 1024 pixels; the paper has 30 and 29 million.
  EXPECT_EQ(sizes_of(stylegan2_model(1024, 32)), Sizes(30'370'060, 29'012'513));
}

TEST(Stylegan2InFp16, KeepsAllButTheFourHighestResolutionsInFp32) {
  const ModelSpec large = stylegan2_model(256, 64);  // fp16 from 32 pixels up
  using Numbers = std::vector<std::size_t>;
  // The mapping, the constant, two blocks at 4 pixels, and three blocks each at 8 and 16.
  EXPECT_EQ(stylegan2_generator(large).fp32_blocks, (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  // After the image and the halvings of 256, 128, 64 and 32 pixels.
  EXPECT_EQ(stylegan2_discriminator(large).fp32_blocks, (Numbers{5, 6, 7}));
  const ModelSpec small = stylegan2_model(32, 8, 16, 10);  // never below 8 pixels
  EXPECT_EQ(stylegan2_generator(small).fp32_blocks, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(stylegan2_discriminator(small).fp32_blocks, (Numbers{4, 5}));
}

TEST(Stylegan2InHalfPrecision, HasAsManyResolutionsInItAsTheJobSays) {
  ModelSpec model = stylegan2_model(256, 64);
  EXPECT_FALSE(stylegan2_generator(model).is_fp32_beside_bf16);
  model.half_precision_sizes = 5;
  EXPECT_EQ(stylegan2_generator(model).fp32_blocks,
            (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(stylegan2_generator(model).is_fp32_beside_bf16);
  EXPECT_TRUE(stylegan2_discriminator(model).is_fp32_beside_bf16);
}

TEST(Stylegan2Discriminator, HasNoSkipsWhereItIsOrig) {
  ModelSpec model = stylegan2_model(32, 8, 16);
  const std::int64_t residual = num_parameters(stylegan2_discriminator(model));
  model.is_residual = false;
  // 1x1 kernels of 8 to 16, 16 to 32 and 32 to 64 channels.
  EXPECT_EQ(residual - num_parameters(stylegan2_discriminator(model)), 8 * 16 + 16 * 32 + 32 * 64);
}

TEST(Stylegan2Discriminator, HasMappingLayersAndGroupsOfItsOwn) {
  ModelSpec model = stylegan2_model(32, 8, 16, 10);
  model.mapping_layers = 2;
  const auto label_layers = [&model] {
    return blocks_of<StyleLabelSpec>(stylegan2_discriminator(model)).front().layers;
  };
  EXPECT_EQ(label_layers(), 2);
  model.discriminator_mapping_layers = 8;
  EXPECT_EQ(label_layers(), 8);
  EXPECT_EQ(blocks_of<StyleMappingSpec>(stylegan2_generator(model)).front().layers, 2);
  model.deviation_group = 32;
  EXPECT_EQ(blocks_of<StyleEpilogueSpec>(stylegan2_discriminator(model)).front().group, 32);
}

TEST(Stylegan2Blocks, HaveAtMost512Channels) {
  std::vector<std::int64_t> widths;
  for (const StyleHalvingSpec& halving :
       blocks_of<StyleHalvingSpec>(stylegan2_discriminator(stylegan2_model(256, 64)))) {
    widths.push_back(halving.in);
  }
  EXPECT_EQ(widths, (std::vector<std::int64_t>{64, 128, 256, 512, 512, 512}));
  EXPECT_EQ(blocks_of<StyleLayerSpec>(stylegan2_generator(stylegan2_model(32, 512))).back().out,
            512);
}

TEST(Stylegan2Blocks, TakeAStyleEachAndPicturesThatOfTheLayerBehindThem) {
  for (const auto& [resolution, count] :
       {std::pair(32, 8), std::pair(64, 10), std::pair(128, 12), std::pair(256, 14)}) {
    const Architecture generator = stylegan2_generator(stylegan2_model(resolution, 4));
    EXPECT_EQ(blocks_of<StyleMappingSpec>(generator).front().count, count);
    std::vector<std::int64_t> of_layers;
    for (const StyleLayerSpec& layer : blocks_of<StyleLayerSpec>(generator)) {
      EXPECT_EQ(layer.index, static_cast<std::int64_t>(of_layers.size()));
      of_layers.push_back(layer.index);
    }
    std::vector<std::int64_t> of_pictures;
    for (const StylePictureSpec& picture : blocks_of<StylePictureSpec>(generator)) {
      EXPECT_EQ(picture.is_first, of_pictures.empty());
      EXPECT_EQ(picture.is_last, picture.index == count - 1);
      of_pictures.push_back(picture.index);
    }
    EXPECT_EQ(of_layers.size(), static_cast<std::size_t>(count) - 1);
    for (std::size_t i = 0; i < of_pictures.size(); ++i) {
      EXPECT_EQ(of_pictures[i], 2 * static_cast<std::int64_t>(i) + 1);
    }
  }
}

TEST(Stylegan2Blocks, PassStylesAndThePictureToThoseThatTakeThem) {
  const Architecture generator = stylegan2_generator(stylegan2_model(32, 4, 8, 10));
  const std::vector<BlockPorts> ports = ports_in(generator);
  using Names = std::vector<std::string>;
  EXPECT_EQ(ports.front().inputs, (Names{"noise", "labels"}));
  const auto live = live_after(ports, "features");
  EXPECT_EQ(live.at(0), (Names{"styles"}));
  EXPECT_EQ(live.at(2), (Names{"features", "styles"}));
  EXPECT_EQ(live.at(3), (Names{"features", "picture", "styles"}));
  EXPECT_EQ(live.back(), (Names{"features"}));
}

TEST(Stylegan2Blocks, KeepTheMovingMeanOfPathLengths) {
  const auto statistics = statistics_of(StyleMappingSpec{});
  ASSERT_EQ(statistics.size(), 1U);
  EXPECT_EQ(statistics.front().name, "path_length");
  EXPECT_EQ(statistics.front().momentum, 0.01);
  EXPECT_EQ(statistics.front().initial, 0.0);
}

}  // namespace
}  // namespace gangway
