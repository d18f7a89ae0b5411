// SPDX-License-Identifier: MIT
// Blocks of R3GAN's networks. Published sizes were counted in the authors' modules
// (github.com/brownvc/R3GAN, presets of train.py).
#include <cmath>
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

ModelSpec r3gan_model(int resolution, int width, int classes = 0) {
  return {.family = family_named("r3gan"),
          .resolution = resolution,
          .width = width,
          .latent = 64,
          .channels = 3,
          .classes = classes,
          .normalization = Normalization::kNone};
}

TEST(R3ganSizes, AreThePublishedOnes) {
  EXPECT_EQ(sizes_of(r3gan_model(32, 768)), Sizes(20'732'160, 20'683'776));         // CIFAR-10
  EXPECT_EQ(sizes_of(r3gan_model(32, 768, 10)), Sizes(20'781'952, 21'280'512));     // with labels
  EXPECT_EQ(sizes_of(r3gan_model(64, 384)), Sizes(22'429'824, 22'381'440));         // FFHQ-64
  EXPECT_EQ(sizes_of(r3gan_model(256, 96)), Sizes(23'057'952, 23'009'568));         // FFHQ-256
  EXPECT_EQ(sizes_of(r3gan_model(32, 1536, 1000)), Sizes(82'914'304, 86'548'992));  // ImageNet-32
}

TEST(R3ganSizes, AreThePublishedOnesWhereAllMapsHaveTheSameWidth) {
  ModelSpec imagenet64 = r3gan_model(64, 1536, 1000);
  imagenet64.widest_side = 64;
  EXPECT_EQ(sizes_of(imagenet64), Sizes(103'570'432, 107'205'120));
}

TEST(R3ganInHalfPrecision, KeepsTheSmallestMapsAndTheHeadInFp32WhereItSaysSo) {
  using Numbers = std::vector<std::size_t>;
  ModelSpec model = r3gan_model(32, 64, 10);
  EXPECT_EQ(r3gan_generator(model).fp32_blocks, Numbers{});
  EXPECT_EQ(r3gan_discriminator(model).fp32_blocks, Numbers{});
  model.half_precision_sizes = 3;  // as for CIFAR-10: all sizes but 4 pixels
  // The label's embedding, the basis, and two residual blocks.
  EXPECT_EQ(r3gan_generator(model).fp32_blocks, (Numbers{0, 1, 2, 3}));
  EXPECT_TRUE(r3gan_generator(model).is_fp32_beside_bf16);
  // After the picture come three times two residual blocks and a halving.
  EXPECT_EQ(r3gan_discriminator(model).fp32_blocks, (Numbers{10, 11, 12, 13}));
  model.half_precision_sizes = 4;
  EXPECT_EQ(r3gan_generator(model).fp32_blocks, Numbers{});
  EXPECT_EQ(r3gan_discriminator(model).fp32_blocks, Numbers{});
}

TEST(R3ganBlocks, CanBeCutApartAtEachStage) {
  for (const auto& [resolution, num_stages] :
       {std::pair(32, 4), std::pair(64, 5), std::pair(128, 6), std::pair(256, 7)}) {
    const ModelSpec model = r3gan_model(resolution, 8);
    for (const Architecture& network : {r3gan_generator(model), r3gan_discriminator(model)}) {
      EXPECT_EQ(blocks_of<ResidualSpec>(network).size(), 2U * num_stages);
      EXPECT_EQ(blocks_of<ResamplingSpec>(network).size(), num_stages - 1U);
      EXPECT_EQ(network.blocks.size(), 3U * num_stages + 1U);  // with basis and picture layer
    }
  }
}

TEST(R3ganBlocks, AreTheWidestAt32PixelsAndBelow) {
  const Architecture generator = r3gan_generator(r3gan_model(256, 96));
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> groups;
  for (const ResidualSpec& residual : blocks_of<ResidualSpec>(generator)) {
    widths.push_back(residual.channels);
    groups.push_back(residual.groups);
    EXPECT_EQ(residual.expanded, 2 * residual.channels);
  }
  EXPECT_EQ(widths, (std::vector<std::int64_t>{768, 768, 768, 768, 768, 768, 768, 768, 384, 384,
                                               192, 192, 96, 96}));
  EXPECT_EQ(groups,
            (std::vector<std::int64_t>{96, 96, 96, 96, 96, 96, 96, 96, 48, 48, 24, 24, 12, 12}));
  std::vector<std::int64_t> backwards;
  for (const ResidualSpec& residual :
       blocks_of<ResidualSpec>(r3gan_discriminator(r3gan_model(256, 96)))) {
    backwards.push_back(residual.channels);
  }
  EXPECT_EQ(backwards, std::vector<std::int64_t>(widths.rbegin(), widths.rend()));
}

TEST(R3ganBlocks, HaveGroupsAtAnyWidth) {
  for (const auto& [width, groups] : {std::pair(1, 1), std::pair(8, 1), std::pair(12, 1),
                                      std::pair(16, 2), std::pair(28, 2), std::pair(31, 2)}) {
    const Architecture generator = r3gan_generator(r3gan_model(32, width));
    EXPECT_EQ(blocks_of<ResidualSpec>(generator).front().groups, groups) << width;
  }
}

TEST(R3ganBlocks, BeginWithLessGainTheMoreTheyAre) {
  const double leaky = std::sqrt(2.0 / 1.04);
  ModelSpec model = r3gan_model(32, 16);
  EXPECT_NEAR(blocks_of<ResidualSpec>(r3gan_generator(model)).front().gain,
              leaky * std::pow(8.0, -0.25), 1e-15);
  model.blocks = 4;
  EXPECT_NEAR(blocks_of<ResidualSpec>(r3gan_discriminator(model)).front().gain, leaky / 2.0, 1e-15);
}

TEST(R3ganBlocks, TakeLabelsBesideTheNoiseAndBesideTheLogits) {
  const ModelSpec model = r3gan_model(32, 16, 10);
  const Architecture generator = r3gan_generator(model);
  const Architecture discriminator = r3gan_discriminator(model);
  EXPECT_TRUE(std::holds_alternative<LabelEmbeddingSpec>(generator.blocks.front()));
  EXPECT_EQ(std::get<GenerativeBasisSpec>(generator.blocks.at(1)).in, 128);
  EXPECT_EQ(blocks_of<DiscriminativeBasisSpec>(discriminator).front().out, 16);
  EXPECT_TRUE(std::holds_alternative<LabelProductSpec>(discriminator.blocks.back()));
  EXPECT_EQ(
      blocks_of<DiscriminativeBasisSpec>(r3gan_discriminator(r3gan_model(32, 16))).front().out, 1);
}

TEST(R3ganBlocks, PassNothingButFeaturesAndWhatLabelsAreStillWanted) {
  const Architecture discriminator = r3gan_discriminator(r3gan_model(32, 16, 10));
  const std::vector<BlockPorts> ports = ports_in(discriminator);
  const auto live = live_after(ports, "features");
  using Names = std::vector<std::string>;
  EXPECT_EQ(live.front(), (Names{"features", "labels"}));
  EXPECT_EQ(live.back(), (Names{"features"}));
  EXPECT_EQ(ports.front().inputs, (Names{"image"}));
}

}  // namespace
}  // namespace gangway
