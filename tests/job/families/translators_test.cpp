// SPDX-License-Identifier: MIT
// The networks that make pictures from pictures, counted like the authors' PyTorch code counts
// (github.com/junyanz/pytorch-CycleGAN-and-pix2pix, models/networks.py).
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/families/family_networks.hpp"
#include "tests/job/families/blocks_of.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;

ModelSpec picture_model(const char* family, int resolution, int blocks = 9) {
  return {.family = family_named(family),
          .resolution = resolution,
          .width = 64,
          .blocks = blocks,
          .channels = 3,
          .normalization = Normalization::kNone};
}

TEST(UnetSizes, AreTheAuthors) {
  const ModelSpec model = picture_model("unet", 256);
  EXPECT_EQ(num_parameters(unet_translator(model)), 54'413'955);
  EXPECT_EQ(num_parameters(unet_pair_discriminator(model)), 2'768'705);
  // unet_128 has one level of 512 channels less: down with its BatchNorm, and up.
  EXPECT_EQ(num_parameters(unet_translator(picture_model("unet", 128))),
            54'413'955 - (512 * 512 * 16 + 2 * 512) - (1024 * 512 * 16 + 2 * 512));
}

TEST(CycleganSizes, AreTheAuthors) {
  const ModelSpec model = picture_model("cyclegan", 256);
  EXPECT_EQ(num_parameters(residual_translator(model)), 11'378'179);
  EXPECT_EQ(num_parameters(residual_discriminator(model)), 2'764'737);
  const std::int64_t block = 2 * (256 * 256 * 9 + 256);
  EXPECT_EQ(num_parameters(residual_translator(picture_model("cyclegan", 128, 6))),
            11'378'179 - 3 * block);
}

TEST(UnetBlocks, PassSkipsToTheLevelsThatTakeThem) {
  const auto live =
      live_after(testing::ports_in(unet_translator(picture_model("unet", 32))), "features");
  ASSERT_EQ(live.size(), 14U);
  EXPECT_THAT(live[0], ElementsAre("skip0"));
  EXPECT_THAT(live[4], ElementsAre("features", "skip0", "skip1", "skip2", "skip3"));
  EXPECT_THAT(live[6], ElementsAre("features", "skip0", "skip1", "skip2"));
  EXPECT_THAT(live[12], ElementsAre("features"));
  EXPECT_THAT(live[13], ElementsAre("features"));
}

TEST(UnetBlocks, DropOutWhereTheDecoderIsAsWideAsInside) {
  const auto dropped = [](int resolution) {
    int count = 0;
    for (const BlockSpec& block : unet_translator(picture_model("unet", resolution)).blocks) {
      const auto* layer = std::get_if<LayerSpec>(&block);
      count += layer != nullptr && layer->dropout == 0.5 ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(dropped(256), 3);
  EXPECT_EQ(dropped(64), 1);
  EXPECT_EQ(dropped(32), 0);
}

/// Returns the side of a logit's receptive field, in pixels.
std::int64_t patch_of(int resolution) {
  std::int64_t side = 1;
  const Architecture judge = unet_discriminator(picture_model("unet", resolution));
  for (auto block = judge.blocks.rbegin(); block != judge.blocks.rend(); ++block) {
    const auto& layer = std::get<LayerSpec>(*block);
    side = (side - 1) * layer.stride + layer.kernel;
  }
  return side;
}

TEST(PatchDiscriminators, JudgeAsMuchAsThePapersAtEachSize) {
  EXPECT_EQ(patch_of(256), 70);
  EXPECT_EQ(patch_of(128), 70);
  EXPECT_EQ(patch_of(64), 34);
  EXPECT_EQ(patch_of(32), 16);
}

}  // namespace
}  // namespace gangway
