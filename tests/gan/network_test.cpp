// SPDX-License-Identifier: MIT
#include "gan/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"

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
  PerNetwork<Network> first = build_networks({});
  PerNetwork<Network> second = build_networks({});
  first[kGenerator].initialise(5);
  first[kDiscriminator].initialise(5);
  second[kDiscriminator].initialise(5);  // another order
  second[kGenerator].initialise(4);
  EXPECT_FALSE(all_equal(values_of(first[kGenerator]), values_of(second[kGenerator])));
  second[kGenerator].initialise(5);
  EXPECT_TRUE(all_equal(values_of(first[kGenerator]), values_of(second[kGenerator])));
  EXPECT_TRUE(all_equal(values_of(first[kDiscriminator]), values_of(second[kDiscriminator])));
}

TEST(Initialisation, DrawsDcgansNormalWeights) {
  PerNetwork<Network> networks = build_networks({});
  networks[kGenerator].initialise(1);
  const at::Tensor weight = networks[kGenerator].parameters().front().parameter->tensor.detach();
  const double n = std::sqrt(static_cast<double>(weight.numel()));
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 4.0 * 0.02 / n);
  EXPECT_NEAR(weight.std().item<double>(), 0.02, 4.0 * 0.02 / n);
}

TEST(Initialisation, CentresNormalisationOnTheIdentity) {
  PerNetwork<Network> networks = build_networks({});
  networks[kGenerator].initialise(1);
  Block& block = networks[kGenerator].block(0);
  EXPECT_NEAR(block.parameters()[1].tensor.mean().item<double>(), 1.0, 0.01);  // norm.weight
  EXPECT_EQ(block.parameters()[2].tensor.abs().max().item<double>(), 0.0);     // norm.bias
  EXPECT_EQ(block.statistics()[0].running.abs().max().item<double>(), 0.0);
  EXPECT_TRUE(block.statistics()[1].running.eq(1.0).all().item<bool>());
}

TEST(Initialisation, GivesDifferentTensorsDifferentDraws) {
  PerNetwork<Network> networks = build_networks({});
  networks[kGenerator].initialise(1);
  networks[kDiscriminator].initialise(1);
  const at::Tensor a =
      networks[kGenerator].parameters().front().parameter->tensor.detach().flatten().slice(0, 0,
                                                                                           64);
  const at::Tensor b =
      networks[kGenerator].parameters()[3].parameter->tensor.detach().flatten().slice(0, 0, 64);
  const at::Tensor c =
      networks[kDiscriminator].parameters().front().parameter->tensor.detach().flatten().slice(0, 0,
                                                                                               64);
  EXPECT_FALSE(a.equal(b));
  EXPECT_FALSE(a.equal(c));
}

TEST(Network, RunningItsBlocksOneByOneGivesTheSameBits) {
  PerNetwork<Network> networks = build_networks({});
  networks[kGenerator].initialise(1);
  const at::NoGradGuard no_grad;
  const NamedTensors in{{"noise", keyed_normal({.seed = 1}, {4, 100}, at::kCPU)}};
  const at::Tensor whole = networks[kGenerator].forward(in, {});
  NamedTensors flow = in;
  for (std::size_t block = 0; block < networks[kGenerator].num_blocks(); ++block) {
    flow = networks[kGenerator].forward_block(block, flow, {});
  }
  EXPECT_TRUE(flow.at("features").equal(whole));
}

TEST(Network, LetsNothingRideAlongThatNobodyTakes) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = 2, .out = 2, .input = "image"}));
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = 2, .out = 2, .output = "skip"}));
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = 2, .out = 2, .input = "image"}));
  blocks.push_back(std::make_unique<LayerBlock>(
      LayerSpec{.in = 2, .out = 1, .input = "skip", .output = "logits"}));
  Network network("discriminator", std::move(blocks), "logits");
  const at::Tensor some = at::ones({1, 2});
  NamedTensors flow{{"stale", some}, {"image", some}};
  std::vector<std::vector<std::string>> names;
  for (std::size_t block = 0; block < network.num_blocks(); ++block) {
    flow = network.forward_block(block, flow, {});
    names.emplace_back();
    for (const auto& [name, tensor] : flow.entries()) {
      names.back().push_back(name);
    }
  }
  using Names = std::vector<std::string>;
  EXPECT_EQ(names,
            (std::vector<Names>{{"image", "features"}, {"image", "skip"}, {"skip"}, {"logits"}}));
}

/// Returns a job of the first recipe without pairs for which the family has all networks.
JobSpec job_of(const ModelFamily& family) {
  const auto recipe = std::ranges::find_if(recipes(), [&family](const Recipe& one) {
    const bool has_pairs = one.translates && !one.is_cyclic;
    return !has_pairs && missing_role(family, one).empty();
  });
  return JobSpec::of(*recipe);
}

TEST(Blocks, WriteToNothingThatTheyTake) {
  for (const ModelFamily& family : families()) {
    JobSpec job = job_of(family);
    job.model.family = &family;
    job.model.width = 4;
    job.model.resolution = family.resolutions.empty() ? 32 : family.resolutions.front();
    job.model.classes = family.takes_labels ? 3 : 0;
    PerNetwork<Network> networks = build_networks(job);
    const at::Tensor labels = at::zeros({2}, at::kLong);
    std::vector<std::int64_t> shape = example_shape(job.model);
    shape.insert(shape.begin(), 2);
    for (Network& network : networks) {
      NamedTensors flow{{"noise", at::ones({2, job.model.latent})},
                        {"image", at::ones(shape)},
                        {"labels", labels}};
      for (std::size_t block = 0; block < network.num_blocks(); ++block) {
        const NamedTensors before = flow;
        std::vector<std::uint32_t> versions;
        for (const auto& [name, tensor] : before.entries()) {
          versions.push_back(static_cast<std::uint32_t>(tensor._version()));
        }
        flow = network.forward_block(block, flow, {});
        for (std::size_t i = 0; i < versions.size(); ++i) {
          EXPECT_EQ(before.entries()[i].second._version(), versions[i])
              << family.name << " " << network.name() << " block " << block << " "
              << before.entries()[i].first;
        }
      }
    }
  }
}

TEST(NamedTensors, KeepsOnlyThoseThatAreAskedFor) {
  const NamedTensors tensors{{"a", at::zeros({1})}, {"b", at::ones({1})}};
  const NamedTensors kept = tensors.only({"c", "b"});
  ASSERT_EQ(kept.entries().size(), 1U);
  EXPECT_EQ(kept.at("b").item<float>(), 1.0F);
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

TEST(KeyedTensors, AreDrawnByTheCpuForADeviceThatCannot) {
  EXPECT_TRUE(keyed_normal({.seed = 9}, {3, 5}, at::kMeta).is_meta());
  EXPECT_TRUE(keyed_uniform({.seed = 9}, {3, 5}, at::kMeta).is_meta());
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
