// SPDX-License-Identifier: MIT
// The same sums, layer by layer, by hand.
#include "job/estimate/parameter_counts.hpp"

#include <gtest/gtest.h>

namespace gangway {
namespace {

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
  model.family = ModelFamily::kInfogan;
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
  model.family = ModelFamily::kMlp;
  model.latent = 2;
  model.width = 128;
  model.normalization = Normalization::kNone;
  const ParameterCounts counts = count_parameters(model);
  EXPECT_EQ(counts.generator, 2 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 2 + 2);
  EXPECT_EQ(counts.discriminator, 2 * 128 + 128 + 2 * (128 * 128 + 128) + 128 + 1);
  model.normalization = Normalization::kBatch;
  EXPECT_EQ(count_parameters(model).discriminator - counts.discriminator, 3 * 256);
}

}  // namespace
}  // namespace gangway
