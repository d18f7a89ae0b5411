// SPDX-License-Identifier: MIT
#include "launch/model/feature_weights.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

const std::filesystem::path kCommitted =
    std::filesystem::path(GANGWAY_SHARE_DIR) / kFeatureWeightsName;

TEST(FeatureWeights, OfTheRepositoryAreTheOnesTheProgramKnows) {
  gan::LeNet lenet;
  load_feature_weights(lenet, kCommitted);
  for (const gan::Network::NamedParameter& named : lenet.parameters()) {
    EXPECT_GT(named.parameter->tensor.abs().max().item<double>(), 0.0) << named.name;
  }
}

TEST(FeatureWeights, TakeAtMostAMegabyte) {
  EXPECT_LE(std::filesystem::file_size(kCommitted), 1'000'000U);
}

TEST(FeatureWeights, OfAnotherNetworkAreRefused) {
  const testing::ScratchFolder folder;
  gan::LeNet lenet;
  lenet.initialise(1);
  const std::filesystem::path file = folder.path() / "other.safetensors";
  EXPECT_NE(save_feature_weights(lenet, file), kFeatureWeightsHash);
  try {
    load_feature_weights(lenet, file);
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("other.safetensors"), std::string::npos);
  }
}

TEST(FeatureWeights, ThatAreMissingAreNamed) {
  gan::LeNet lenet;
  EXPECT_THROW(load_feature_weights(lenet, "nowhere/weights.safetensors"), ConfigError);
}

}  // namespace
}  // namespace gangway::launch
