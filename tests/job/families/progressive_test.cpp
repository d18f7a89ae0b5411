// SPDX-License-Identifier: MIT
// Blocks of the networks of progressive growing, counted by hand after table 2 of the paper.
#include <cstdint>
#include <functional>
#include <numeric>
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

using testing::Sizes;
using BlockNames = std::vector<std::string>;

ModelSpec progressive_model(int resolution, int width, int classes = 0) {
  return {.family = family_named("progressive"),
          .resolution = resolution,
          .width = width,
          .latent = 512,
          .channels = 3,
          .classes = classes,
          .normalization = Normalization::kNone};
}

/// Counts the parameters of layers between pictures and features, except the finest block's.
std::int64_t coarser_picture_parameters(const Architecture& network, int last) {
  std::int64_t count = 0;
  for (const BlockSpec& block : network.blocks) {
    const bool is_finest = std::visit(
        [last](const auto& spec) {
          if constexpr (requires { spec.place; }) {
            return spec.place.part == last;
          }
          return false;
        },
        block);
    for (const ParameterSpec& parameter :
         std::visit([](const auto& spec) { return parameters_of(spec); }, block)) {
      if (!is_finest && parameter.name.starts_with("picture.")) {
        count += std::accumulate(parameter.shape.begin(), parameter.shape.end(), std::int64_t{1},
                                 std::multiplies<>());
      }
    }
  }
  return count;
}

TEST(ProgressiveSizes, AreThePublishedOnesAt1024Pixels) {
  const ModelSpec model = progressive_model(1024, 16);
  const Architecture generator = progressive_generator(model);
  const Architecture discriminator = progressive_discriminator(model);
  // Table 2 lists only the finest "toRGB" and "fromRGB": 23.1 million parameters each.
  EXPECT_EQ(num_parameters(generator) - coarser_picture_parameters(generator, 8), 23'071'507);
  EXPECT_EQ(num_parameters(discriminator) - coarser_picture_parameters(discriminator, 8),
            23'077'137);
  EXPECT_EQ(Sizes(num_parameters(generator), num_parameters(discriminator)),
            Sizes(23'079'115, 23'087'249));
}

TEST(ProgressiveSizes, AddUpByHand) {
  ModelSpec model = progressive_model(64, 8);  // 16 channels up to 32 pixels, 8 at 64
  model.latent = 24;
  model.channels = 1;
  const auto convolution = [](std::int64_t in, std::int64_t out, std::int64_t kernel) {
    return in * out * kernel * kernel + out;
  };
  const std::int64_t generator = 24 * 16 * 16 + 16 + convolution(16, 16, 3) * (1 + 3 * 2) +
                                 convolution(16, 8, 3) + convolution(8, 8, 3) +
                                 4 * convolution(16, 1, 1) + convolution(8, 1, 1);
  const std::int64_t discriminator = convolution(8, 8, 3) + convolution(8, 16, 3) +
                                     convolution(16, 16, 3) * (3 * 2) + convolution(17, 16, 3) +
                                     convolution(16, 16, 4) + 16 + 1 + convolution(1, 8, 1) +
                                     4 * convolution(1, 16, 1);
  EXPECT_EQ(num_parameters(progressive_generator(model)), generator);
  EXPECT_EQ(num_parameters(progressive_discriminator(model)), discriminator);
  model.classes = 10;
  EXPECT_EQ(num_parameters(progressive_generator(model)), generator + 10 * 16 * 16);
  EXPECT_EQ(num_parameters(progressive_discriminator(model)), discriminator + 10 * 16);
}

TEST(ProgressiveBlocks, AreOneForEachResolution) {
  for (const auto& [resolution, num_parts] :
       {std::pair(32, 4U), std::pair(64, 5U), std::pair(128, 6U), std::pair(256, 7U)}) {
    const ModelSpec model = progressive_model(resolution, 8);
    EXPECT_EQ(progressive_generator(model).blocks.size(),
              num_parts + 1);  // and the picture
    EXPECT_EQ(progressive_discriminator(model).blocks.size(), num_parts);
    const auto finest =
        std::get<ProgressiveDownSpec>(progressive_discriminator(model).blocks.front());
    EXPECT_EQ(finest.place.side(), resolution);
    EXPECT_EQ(finest.place.part, finest.place.last);
  }
}

TEST(ProgressiveBlocks, PassFeaturesAndAPicture) {
  const auto live = [](const Architecture& network) {
    return live_after(testing::ports_in(network), "features");
  };
  const auto of_generator = live(progressive_generator(progressive_model(32, 8)));
  EXPECT_EQ(of_generator, (std::vector<BlockNames>{{"features", "picture"},
                                                   {"features", "picture"},
                                                   {"features", "picture"},
                                                   {"picture"},
                                                   {"features"}}));
  const auto of_discriminator = live(progressive_discriminator(progressive_model(32, 8, 10)));
  EXPECT_EQ(of_discriminator, (std::vector<BlockNames>{{"features", "image", "labels"},
                                                       {"features", "image", "labels"},
                                                       {"features", "image", "labels"},
                                                       {"features"}}));
}

TEST(ProgressiveBlocks, HaveMapsOfEverySize) {
  ModelSpec model = progressive_model(32, 6);
  EXPECT_EQ(progressive_feature_elements(model), 32 * 32 * 3 + (8 * 8 + 16 * 16 + 32 * 32) * 5 * 6);
}

}  // namespace
}  // namespace gangway
