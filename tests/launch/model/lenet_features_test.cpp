// SPDX-License-Identifier: MIT
// The feature network that Gangway installs.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "checkpoint/format/safetensors.hpp"

namespace gangway::launch {
namespace {

TEST(LenetFeatures, AreTheConvolutionsOfTheClassifier) {
  const std::filesystem::path share = GANGWAY_SHARE_DIR;
  const checkpoint::SafetensorsFile whole(share / "fd-lenet-fashion-mnist.safetensors");
  const checkpoint::SafetensorsFile own(share / "lenet-features-fashion-mnist.safetensors");
  EXPECT_EQ(own.tensors().size(), 4U);
  for (const auto& [name, of_classifier] :
       {std::pair("0.weight", "features/0/weight"), std::pair("0.bias", "features/0/bias"),
        std::pair("1.weight", "features/2/weight"), std::pair("1.bias", "features/2/bias")}) {
    const checkpoint::TensorRecord* const found = own.find(name);
    const checkpoint::TensorRecord* const expected = whole.find(of_classifier);
    ASSERT_TRUE(found != nullptr && expected != nullptr) << name;
    EXPECT_EQ(found->shape, expected->shape) << name;
    EXPECT_TRUE(std::ranges::equal(found->bytes, expected->bytes)) << name;
  }
}

}  // namespace
}  // namespace gangway::launch
