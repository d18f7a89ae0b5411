// SPDX-License-Identifier: MIT
// Sizes of the families' networks, summed by hand, layer by layer.
#include "job/models/architecture.hpp"

#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/job/families/blocks_of.hpp"
#include "tests/named_rows.hpp"

namespace gangway {
namespace {

using testing::architectures_of;

struct ParameterCounts {
  std::int64_t generator = 0;
  std::int64_t discriminator = 0;
};

ParameterCounts count_parameters(const ModelSpec& model) {
  const PerNetwork<Architecture> networks = architectures_of(model);
  return {num_parameters(networks[kGenerator]), num_parameters(networks[kDiscriminator])};
}

ModelSpec dcgan() {
  ModelSpec model;
  model.normalization = Normalization::kBatch;
  return model;
}

TEST(ParameterCounts, OfDcgan32) {
  const ParameterCounts counts = count_parameters(dcgan());
  EXPECT_EQ(counts.generator,
            100 * 256 * 16 + 512 + 256 * 128 * 16 + 256 + 128 * 64 * 16 + 128 + 64 * 16);
  EXPECT_EQ(counts.discriminator, 64 * 16 + 64 * 128 * 16 + 256 + 128 * 256 * 16 + 512 + 256 * 16);
}

TEST(ParameterCounts, OfDcgan64InColourWithoutNormalization) {
  ModelSpec model = dcgan();
  model.resolution = 64;
  model.channels = 3;
  model.normalization = Normalization::kNone;
  const ParameterCounts counts = count_parameters(model);
  EXPECT_EQ(counts.generator, 100 * 512 * 16 + 1024 + 512 * 256 * 16 + 512 + 256 * 128 * 16 + 256 +
                                  128 * 64 * 16 + 128 + 64 * 3 * 16);
  EXPECT_EQ(counts.discriminator,
            3 * 64 * 16 + 64 * 128 * 16 + 128 * 256 * 16 + 256 * 512 * 16 + 512 * 16);
}

TEST(ParameterCounts, GrowWithLabels) {
  ModelSpec model = dcgan();
  model.classes = 10;
  const ParameterCounts plain = count_parameters(dcgan());
  const ParameterCounts counts = count_parameters(model);
  EXPECT_EQ(counts.generator - plain.generator, 10 * 256 * 16);
  EXPECT_EQ(counts.discriminator - plain.discriminator, 10 * 256);
}

TEST(ParameterCounts, OfInfogan) {
  ModelSpec model = dcgan();
  model.family = family_named("infogan");
  model.resolution = 28;
  model.latent = 64;
  const ParameterCounts counts = count_parameters(model);
  EXPECT_EQ(counts.generator,
            64 * 1024 + 2048 + 1024 * 6272 + 12'544 + 128 * 64 * 16 + 128 + 64 * 16 + 1);
  EXPECT_EQ(counts.discriminator,
            64 * 16 + 64 + 64 * 128 * 16 + 256 + 6272 * 1024 + 2048 + 1024 + 1);
  EXPECT_NEAR(static_cast<double>(counts.generator + counts.discriminator), 13.2e6, 0.05e6);
  model.classes = 10;
  EXPECT_EQ(count_parameters(model).discriminator - counts.discriminator, 10 * 1024 - 1);
}

TEST(ParameterCounts, OfMlp) {
  ModelSpec model = dcgan();
  model.family = family_named("mlp");
  model.latent = 2;
  model.width = 128;
  model.normalization = Normalization::kNone;
  const ParameterCounts counts = count_parameters(model);
  EXPECT_EQ(counts.generator, 2 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 2 + 2);
  EXPECT_EQ(counts.discriminator, 2 * 128 + 128 + 2 * (128 * 128 + 128) + 128 + 1);
  model.normalization = Normalization::kBatch;
  EXPECT_EQ(count_parameters(model).discriminator - counts.discriminator, 3 * 256);
}

TEST(Parameters, OfALayerComeInTheOrderOfTheArena) {
  const auto parameters = parameters_of(LayerSpec{.kind = LayerKind::kTransposedConvolution,
                                                  .in = 3,
                                                  .out = 5,
                                                  .kernel = 2,
                                                  .bias = true,
                                                  .batch_norm = true,
                                                  .initial_scale = 0.5});
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0].name, "weight");
  EXPECT_EQ(parameters[0].shape, (std::vector<std::int64_t>{3, 5, 2, 2}));
  EXPECT_EQ(parameters[0].initial_scale, 0.5);
  EXPECT_EQ(parameters[1].name, "bias");
  EXPECT_EQ(parameters[1].initial, Initial::kZero);
  EXPECT_EQ(parameters[2].name, "norm.weight");
  EXPECT_EQ(parameters[2].initial, Initial::kOnePlusNormal);
  EXPECT_EQ(parameters[2].initial_scale, 0.02);
  EXPECT_EQ(parameters[3].name, "norm.bias");
  const auto statistics = statistics_of(LayerSpec{.out = 5, .batch_norm = true});
  ASSERT_EQ(statistics.size(), 2U);
  EXPECT_EQ(statistics[1].name, "norm.running_var");
  EXPECT_EQ(statistics[1].initial, 1.0);
  EXPECT_TRUE(statistics_of(LayerSpec{}).empty());
}

TEST(DenseLayers, AreNormalizedInInfoganAndOnRequestInMlp) {
  const auto normalizes = [](const char* family, Normalization normalization) {
    ModelSpec model{.family = family_named(family), .normalization = normalization};
    const PerNetwork<Architecture> networks = architectures_of(model);
    return std::pair(normalizes_dense_layers(networks[kGenerator]),
                     normalizes_dense_layers(networks[kDiscriminator]));
  };
  EXPECT_EQ(normalizes("dcgan", Normalization::kBatch), std::pair(false, false));
  EXPECT_EQ(normalizes("infogan", Normalization::kNone), std::pair(true, false));
  EXPECT_EQ(normalizes("mlp", Normalization::kNone), std::pair(false, false));
  EXPECT_EQ(normalizes("mlp", Normalization::kBatch), std::pair(false, true));
}

}  // namespace
}  // namespace gangway
