// SPDX-License-Identifier: MIT
// Blocks of BigGAN's networks. Published sizes are the output of the authors' PyTorch code
// (github.com/ajbrock/BigGAN-PyTorch).
#include <cstdint>
#include <string>
#include <tuple>
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
using testing::Sizes;
using testing::sizes_of;

ModelSpec biggan_model(int resolution, int width, int classes = 0) {
  return {.family = family_named("biggan"),
          .resolution = resolution,
          .width = width,
          .latent = 120,
          .channels = 3,
          .classes = classes,
          .normalization = Normalization::kNone};
}

TEST(BigganSizes, AreThePublishedOnes) {
  ModelSpec model = biggan_model(128, 96, 1000);
  model.attention = 64;
  EXPECT_EQ(sizes_of(model), Sizes(70'433'988, 87'982'370));
}

TEST(BigganBlocks, GiveEachBlockItsPieceOfTheNoise) {
  const Architecture generator = biggan_generator(biggan_model(128, 96, 1000));
  EXPECT_EQ(std::get<SpectralStemSpec>(generator.blocks.front()).taken, 20);
  std::int64_t begin = 20;
  for (const SpectralUpSpec& up : blocks_of<SpectralUpSpec>(generator)) {
    EXPECT_EQ(up.first, begin);
    EXPECT_EQ(up.taken, 20);
    EXPECT_EQ(up.style, 128);
    begin += 20;
  }
  EXPECT_EQ(begin, 120);
  ModelSpec model = biggan_model(32, 8, 10);
  model.latent = 7;  // the remainder of four pieces
  EXPECT_EQ(std::get<SpectralStemSpec>(biggan_generator(model).blocks.front()).taken, 4);
}

TEST(BigganBlocks, TakeAllNoiseAtTheFirstAndNoStyleWithoutLabels) {
  const Architecture generator = biggan_generator(biggan_model(64, 8));
  EXPECT_EQ(std::get<SpectralStemSpec>(generator.blocks.front()).taken, 120);
  EXPECT_TRUE(blocks_of<SharedEmbeddingSpec>(generator).empty());
  for (const SpectralUpSpec& up : blocks_of<SpectralUpSpec>(generator)) {
    EXPECT_EQ(up.style, 0);
    EXPECT_EQ(ports_of(up).inputs, (std::vector<std::string>{"features"}));
  }
}

TEST(BigganBlocks, TakeAllNoiseAtTheFirstWhereTheyShareTheEmbeddingAlone) {
  ModelSpec model = biggan_model(32, 8, 10);
  model.conditioning = Conditioning::kShared;
  const Architecture generator = biggan_generator(model);
  EXPECT_EQ(std::get<SpectralStemSpec>(generator.blocks.front()).taken, model.latent);
  for (const SpectralUpSpec& up : blocks_of<SpectralUpSpec>(generator)) {
    EXPECT_EQ(up.style, 128);
    EXPECT_EQ(ports_of(up).inputs, (std::vector<std::string>{"features", "style"}));
  }
}

TEST(BigganBlocks, HaveEmbeddingsOfTheirOwnWhereTheyAreSeparate) {
  ModelSpec model = biggan_model(32, 8, 10);
  model.conditioning = Conditioning::kSeparate;
  const Architecture generator = biggan_generator(model);
  EXPECT_EQ(std::get<SpectralStemSpec>(generator.blocks.front()).taken, model.latent);
  EXPECT_TRUE(blocks_of<SharedEmbeddingSpec>(generator).empty());
  for (const SpectralUpSpec& up : blocks_of<SpectralUpSpec>(generator)) {
    EXPECT_EQ(ports_of(up).inputs, (std::vector<std::string>{"features", "labels"}));
    const auto parameters = parameters_of(up);
    EXPECT_EQ(parameters.front().name, "first_norm_gain.embedding");
    EXPECT_EQ(parameters.front().shape, (std::vector<std::int64_t>{10, up.in}));
    for (const StatisticSpec& statistic : statistics_of(up)) {
      EXPECT_FALSE(statistic.name.starts_with("first_norm_gain")) << "no spectral norm of it";
    }
  }
}

TEST(BigganBlocks, ComeFromFourPixelsAndGoToFourOrEight) {
  for (const auto& [resolution, ups, last] :
       {std::tuple(32, 3, 8), std::tuple(64, 4, 4), std::tuple(128, 5, 4), std::tuple(256, 6, 4)}) {
    const ModelSpec model = biggan_model(resolution, 8);
    const Architecture generator = biggan_generator(model);
    EXPECT_EQ(blocks_of<SpectralUpSpec>(generator).size(), static_cast<std::size_t>(ups));
    EXPECT_EQ(4 << ups, resolution);
    int side = resolution;
    std::int64_t channels = 3;
    for (const SpectralDownSpec& down : blocks_of<SpectralDownSpec>(biggan_discriminator(model))) {
      EXPECT_EQ(down.in, channels);
      EXPECT_EQ(down.is_first, side == resolution);
      channels = down.out;
      side /= down.halves ? 2 : 1;
    }
    EXPECT_EQ(side, last);
  }
}

TEST(BigganBlocks, HaveAttentionOnceInEachNetwork) {
  for (const int resolution : family_named("biggan")->resolutions) {
    for (int side = 8; side < resolution; side *= 2) {
      ModelSpec model = biggan_model(resolution, 8);
      EXPECT_TRUE(blocks_of<SpectralAttentionSpec>(biggan_generator(model)).empty());
      model.attention = side;
      EXPECT_EQ(blocks_of<SpectralAttentionSpec>(biggan_generator(model)).size(), 1U);
      EXPECT_EQ(blocks_of<SpectralAttentionSpec>(biggan_discriminator(model)).size(), 1U);
    }
  }
}

TEST(BigganBlocks, HaveAttentionBehindEachOfTheDiscriminatorsWhereTheJobSaysSo) {
  ModelSpec model = biggan_model(32, 8, 10);
  model.attention = 16;
  model.attends_everywhere = true;
  EXPECT_EQ(blocks_of<SpectralAttentionSpec>(biggan_discriminator(model)).size(), 4U);
  EXPECT_EQ(blocks_of<SpectralAttentionSpec>(biggan_generator(model)).size(), 1U);
}

TEST(BigganBlocks, HaveADirectionForEachMapThatIsTakenWhole) {
  const SpectralUpSpec up{.in = 6, .out = 4, .style = 3, .taken = 2};
  const auto statistics = statistics_of(up);
  ASSERT_EQ(statistics.size(), 11U);  // seven maps, two means, two variances
  EXPECT_EQ(statistics[0].name, "first_norm_gain.direction");
  EXPECT_EQ(statistics[0].features, 6);
  EXPECT_EQ(statistics[2].name, "first.direction");
  EXPECT_EQ(statistics[2].momentum, 1.0);
  EXPECT_EQ(statistics[2].initial, 0.5);
  EXPECT_EQ(statistics[7].name, "first_norm.running_mean");
  EXPECT_EQ(statistics[7].momentum, kStatisticMomentum);
}

}  // namespace
}  // namespace gangway
