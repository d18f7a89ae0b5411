// SPDX-License-Identifier: MIT
#include "launch/model/feature_network.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "tests/data/expect_config_error.hpp"
#include "tests/launch/model/script_network.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using gangway::testing::expect_config_error;
using gangway::testing::write_network;

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

class Features : public ::testing::Test {
 protected:
  /// Opens a network with this forward. @param name  of its file
  FeatureNetwork open(const std::string& forward, const std::string& name = "net.pt") {
    return open_feature_network(write_network(folder.path() / name, forward));
  }
  /// Expects that opening it, or its first images, fail with one line that has these parts.
  void expect_refusal(const std::string& forward, const std::vector<std::string>& parts) {
    expect_config_error([&] { (void)open(forward).features(at::zeros({5, 3, 8, 8})); }, parts);
  }
  const testing::ScratchFolder folder;
};

TEST_F(Features, SeeWholeLevelsOfThreeChannels) {
  const FeatureNetwork network = open(
      "def forward(self, images):\n"
      "    return torch.flatten(torch.to(images, 6), 1)\n");
  at::Tensor levels = at::arange(256, at::kFloat).reshape({1, 1, 16, 16});
  const at::Tensor images = levels / 127.5 - 1.0;  // the data sets' form
  const at::Tensor expected = levels.expand({1, 3, 16, 16}).reshape({1, -1});
  EXPECT_TRUE(network.features(images).equal(expected));
  EXPECT_TRUE(network.features(images.expand({1, 3, 16, 16})).equal(expected));
  EXPECT_EQ(network.features(images * 2.0).min().item<float>(), 0.0F) << "clamped";
  EXPECT_EQ(network.features(images * 2.0).max().item<float>(), 255.0F);
}

TEST_F(Features, AreAskedForWhereTheNetworkHasASwitch) {
  const FeatureNetwork network = open(
      "def forward(self, images, return_features: bool=False, other: bool=False):\n"
      "    x = torch.mean(torch.to(images, 6), [2, 3])\n"
      "    if return_features:\n"
      "        x = x + 1000.0\n"
      "    if other:\n"
      "        x = x - 1000.0\n"
      "    return x\n");
  const at::Tensor features = network.features(at::ones({4, 3, 8, 8}));
  EXPECT_TRUE(features.equal(at::full({4, 3}, 1255.0F)));
}

TEST_F(Features, HaveOneVectorAnImageWhateverTheirShape) {
  const FeatureNetwork network = open(
      "def forward(self, images):\n"
      "    return torch.avg_pool2d(torch.to(images, 7), [4, 4])\n");  // 7: float64
  const at::Tensor features = network.features(at::zeros({5, 3, 8, 8}));
  EXPECT_EQ(features.sizes().vec(), (std::vector<std::int64_t>{5, 12}));
  EXPECT_EQ(features.scalar_type(), at::kFloat);
}

TEST_F(Features, OfANetworkThatIsNotTheInceptionAreNeverCalledFid) {
  const FeatureNetwork network = open(
      "def forward(self, images):\n    return torch.to(images, 6)\n", "inception-2015-12-05.pt");
  EXPECT_EQ(network.distance, "FD-inception-2015-12-05.pt");
  EXPECT_EQ(network.kernel_distance, "KID-inception-2015-12-05.pt");
  EXPECT_EQ(network.hash, sha256_of_file(folder.path() / "inception-2015-12-05.pt"));
  EXPECT_NE(network.hash, kInceptionHash);
  EXPECT_EQ(network.lenet, nullptr);
}

TEST_F(Features, OfTheProjectAreFdLenet) {
  const FeatureNetwork network = open_feature_network(kCommitted);
  EXPECT_EQ(network.distance, "FD-LeNet");
  EXPECT_EQ(network.hash, kFeatureWeightsHash);
  ASSERT_NE(network.lenet, nullptr);
  const at::Tensor images = gan::keyed_normal({.seed = 1}, {3, 1, 32, 32}, at::kCPU);
  EXPECT_TRUE(network.features(images).equal(network.lenet->features(gan::lenet_input(images))));
}

TEST_F(Features, OfWhatIsNoNetworkAreRefused) {
  expect_config_error([&] { (void)open_feature_network(folder.path() / "nowhere.pt"); },
                      {"nowhere.pt", "no such file"});
  const auto text = folder.write("text.pt", "no network");
  expect_config_error([&] { (void)open_feature_network(text); }, {"text.pt", "is no TorchScript"});
  const std::vector<char> pickled = torch::jit::pickle_save(at::ones({2}));
  const auto saved = folder.write("saved.pt", {pickled.data(), pickled.size()});
  expect_config_error([&] { (void)open_feature_network(saved); },
                      {"saved.pt", "one of torch.save", "torch.jit.script"});
}

TEST_F(Features, OfANewerPyTorchAreRefusedWithTheOneThatIsHere) {
  (void)write_network(folder.path() / "net.pt",
                      "def forward(self, images):\n    return torch.flatten(images, 1)\n");
  std::string archive = folder.read("net.pt");
  const std::string name = "torch.flatten";
  archive.replace(archive.find(name), name.size(), "torch.flatter");
  const auto file = folder.write("newer.pt", archive);
  expect_config_error([&] { (void)open_feature_network(file); },
                      {"newer.pt", "a newer PyTorch than", "pip install torch=="});
}

TEST_F(Features, ThatOpenFilesAreRefused) {
  expect_refusal(
      "def forward(self, images):\n    if images.size(0) > 7:\n"
      "        images = torch.from_file(\"/etc/hostname\", False, 1)\n"
      "    return images\n",
      {"net.pt", "aten::from_file", "opens files"});
}

TEST_F(Features, OfAnotherSignatureAreRefusedWithTheOneThatIsWanted) {
  const std::string wanted = "wanted is forward(images)";
  expect_refusal("def forward(self, images, scale: float):\n    return images * scale\n",
                 {"net.pt", "wants 'scale' as well", wanted});
  expect_refusal("def forward(self):\n    return torch.zeros([1, 1])\n",
                 {"net.pt", "takes nothing", wanted});
  expect_refusal("def forward(self, images):\n    return torch.reshape(images, [7])\n",
                 {"net.pt: fails: ", "invalid for input", wanted});
  expect_refusal("def forward(self, images):\n    return images\n",
                 {"net.pt: returned Byte [5, 3, 8, 8] of 5 images", wanted});
  expect_refusal("def forward(self, images):\n    return torch.sum(torch.to(images, 6))\n",
                 {"net.pt: returned Float [] of 5 images", wanted});
  expect_refusal("def forward(self, images):\n    return [images]\n",
                 {"net.pt: returned ", " instead of a tensor", wanted});
}

}  // namespace
}  // namespace gangway::launch
