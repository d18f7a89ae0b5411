// SPDX-License-Identifier: MIT
#include "gan/network.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/build_networks.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

std::vector<at::Tensor> values_of(Network& network) {
  std::vector<at::Tensor> values;
  for (const Network::NamedParameter& named : network.parameters()) {
    values.push_back(named.parameter->tensor.detach().clone());
  }
  return values;
}

bool all_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  bool equal = a.size() == b.size();
  for (std::size_t i = 0; equal && i < a.size(); ++i) {
    equal = a[i].equal(b[i]);
  }
  return equal;
}

TEST(Initialisation, DependsOnTheSeedAlone) {
  NetworkPair first = build_networks({});
  NetworkPair second = build_networks({});
  first.generator.initialise(5);
  first.discriminator.initialise(5);
  second.discriminator.initialise(5);  // another order
  second.generator.initialise(4);
  EXPECT_FALSE(all_equal(values_of(first.generator), values_of(second.generator)));
  second.generator.initialise(5);
  EXPECT_TRUE(all_equal(values_of(first.generator), values_of(second.generator)));
  EXPECT_TRUE(all_equal(values_of(first.discriminator), values_of(second.discriminator)));
}

TEST(Initialisation, DrawsDcgansNormalWeights) {
  NetworkPair networks = build_networks({});
  networks.generator.initialise(1);
  const at::Tensor weight = networks.generator.parameters().front().parameter->tensor.detach();
  const double n = std::sqrt(static_cast<double>(weight.numel()));
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 4.0 * 0.02 / n);
  EXPECT_NEAR(weight.std().item<double>(), 0.02, 4.0 * 0.02 / n);
}

TEST(Initialisation, CentresNormalisationOnTheIdentity) {
  NetworkPair networks = build_networks({});
  networks.generator.initialise(1);
  Block& block = networks.generator.block(0);
  EXPECT_NEAR(block.parameters()[1].tensor.mean().item<double>(), 1.0, 0.01);  // norm.weight
  EXPECT_EQ(block.parameters()[2].tensor.abs().max().item<double>(), 0.0);     // norm.bias
  EXPECT_EQ(block.statistics()[0].running.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(block.statistics()[1].running.eq(1.0).all().item<bool>());
}

TEST(Initialisation, GivesDifferentTensorsDifferentDraws) {
  NetworkPair networks = build_networks({});
  networks.generator.initialise(1);
  networks.discriminator.initialise(1);
  const at::Tensor a =
      networks.generator.parameters().front().parameter->tensor.detach().flatten().slice(0, 0, 64);
  const at::Tensor b =
      networks.generator.parameters()[3].parameter->tensor.detach().flatten().slice(0, 0, 64);
  const at::Tensor c =
      networks.discriminator.parameters().front().parameter->tensor.detach().flatten().slice(0, 0,
                                                                                             64);
  EXPECT_FALSE(a.equal(b));
  EXPECT_FALSE(a.equal(c));
}

TEST(Network, RunningItsBlocksOneByOneGivesTheSameBits) {
  NetworkPair networks = build_networks({});
  networks.generator.initialise(1);
  const at::NoGradGuard no_grad;
  const NamedTensors in{{"noise", keyed_normal({.seed = 1}, {4, 100}, at::kCPU)}};
  const at::Tensor whole = networks.generator.forward(in, {});
  NamedTensors flow = in;
  for (std::size_t block = 0; block < networks.generator.num_blocks(); ++block) {
    flow = networks.generator.forward_block(block, flow, {});
  }
  EXPECT_TRUE(flow.at("features").equal(whole));
}

TEST(NamedTensors, RefusesAnUnknownName) {
  const NamedTensors tensors{{"noise", at::zeros({1})}};
  EXPECT_TRUE(tensors.has("noise"));
  EXPECT_FALSE(tensors.has("labels"));
  EXPECT_THROW(static_cast<void>(tensors.at("labels")), InvariantError);
}

TEST(NamedTensors, ReplacesAndAppendsInACopy) {
  const NamedTensors tensors{{"a", at::zeros({1})}, {"b", at::zeros({1})}};
  const NamedTensors replaced = tensors.with("a", at::ones({1})).with("c", at::ones({1}));
  EXPECT_EQ(tensors.at("a").item<float>(), 0.0F);
  EXPECT_EQ(replaced.at("a").item<float>(), 1.0F);
  EXPECT_EQ(replaced.entries().back().first, "c");
  EXPECT_EQ(replaced.entries().size(), 3U);
}

TEST(KeyedTensors, AreTheDrawsOfTheKeyInRowMajorOrder) {
  const RandomKey key{.seed = 9, .step = 4};
  const KeyedRandom random(key);
  const at::Tensor normal = keyed_normal(key, {3, 5}, at::kCPU);
  const at::Tensor uniform = keyed_uniform(key, {3, 5}, at::kCPU);
  const at::Tensor labels = keyed_labels(key, 15, 10, at::kCPU);
  for (std::int64_t i = 0; i < 15; ++i) {
    std::array<float, 4> four{};
    random.normal4(static_cast<std::uint64_t>(i / 4), four.data());
    EXPECT_EQ(normal.flatten()[i].item<float>(), four.at(static_cast<std::size_t>(i % 4)));
    EXPECT_EQ(uniform.flatten()[i].item<float>(), random.uniform(static_cast<std::uint64_t>(i)));
    EXPECT_EQ(labels[i].item<std::int64_t>(), random.below(static_cast<std::uint64_t>(i), 10));
  }
}

}  // namespace
}  // namespace gangway::gan
