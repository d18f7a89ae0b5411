// SPDX-License-Identifier: MIT
// Each block of R3GAN: its formula, and its first and second derivatives by differences.
#include "gan/blocks/residual_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/label_blocks.hpp"
#include "gan/network.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kExamples = 3;

at::Tensor random_double(std::int32_t draw, at::IntArrayRef shape) {
  return keyed_normal({.seed = 41, .draw = draw}, shape, at::kCPU).to(at::kDouble);
}

/// Makes a block with random weights in float64, none at its initial value.
template <typename Made, typename Spec>
std::unique_ptr<Block> made_of(const Spec& spec) {
  auto block = std::make_unique<Made>(spec);
  std::int32_t draw = 100;
  for (Parameter& parameter : block->parameters()) {
    parameter.tensor.set_data(random_double(draw++, parameter.tensor.sizes()));
  }
  return block;
}

at::Tensor output_of(Block& block, const NamedTensors& in) {
  return block.forward(in, {}).at(block.ports().outputs.front());
}

at::Tensor features_of(Block& block, const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  return output_of(block, {{"features", x}});
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

/// Returns the filter of both directions: [1, 3, 3, 1] / 8 along each side.
at::Tensor filter() {
  const at::Tensor line = at::tensor({1.0, 3.0, 3.0, 1.0}, at::kDouble) / 8.0;
  return at::outer(line, line);
}

TEST(ResidualBlock, BeginsAsTheIdentity) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(
      std::make_unique<ResidualBlock>(ResidualSpec{.channels = 4, .expanded = 8, .groups = 2}));
  Network network("generator", std::move(blocks));
  network.initialise(1);
  const at::Tensor x = keyed_normal({.seed = 2}, {kExamples, 4, 5, 5}, at::kCPU);
  EXPECT_TRUE(features_of(network.block(0), x).equal(x));
  EXPECT_GT(network.block(0).parameters()[0].tensor.abs().max().item<float>(), 0.0F);
}

TEST(ResidualBlock, BeginsWithTheDeviationsOfItsGain) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<ResidualBlock>(
      ResidualSpec{.channels = 64, .expanded = 128, .groups = 8, .gain = 0.7}));
  Network network("generator", std::move(blocks));
  network.initialise(1);
  const auto deviation_of = [&](std::size_t index) {
    return network.block(0).parameters()[index].tensor.std().item<double>();
  };
  EXPECT_NEAR(deviation_of(0), 0.7 / 8.0, 0.002);   // sqrt(64) inputs
  EXPECT_NEAR(deviation_of(2), 0.7 / 12.0, 0.002);  // sqrt(16 channels of 9 pixels)
  EXPECT_EQ(deviation_of(4), 0.0);
}

TEST(ResidualBlock, AddsToItsInputWhatItsThreeConvolutionsMakeOfIt) {
  const auto block =
      made_of<ResidualBlock>(ResidualSpec{.channels = 4, .expanded = 8, .groups = 2});
  std::deque<Parameter>& weights = block->parameters();
  const auto leaky = [](const at::Tensor& y) { return at::where(y.gt(0.0), y, y * 0.2); };
  const auto bias = [&](std::size_t index) {
    return weights[index].tensor.detach().reshape({1, -1, 1, 1});
  };
  const at::Tensor x = random_double(1, {kExamples, 4, 5, 5});
  at::Tensor y = leaky(at::conv2d(x, weights[0].tensor.detach()) + bias(1));
  std::vector<at::Tensor> halves;
  for (std::int64_t half = 0; half < 2; ++half) {
    halves.push_back(at::conv2d(y.slice(1, 4 * half, 4 * half + 4),
                                weights[2].tensor.detach().slice(0, 4 * half, 4 * half + 4), {},
                                /*stride=*/1, /*padding=*/1));
  }
  y = leaky(at::cat(halves, 1) + bias(3));
  EXPECT_LT(distance(features_of(*block, x), x + at::conv2d(y, weights[4].tensor.detach())), 1e-12);
}

TEST(ResidualBlock, GoesOnInItsWeightsOrderOfMemory) {
  ResidualBlock block({.channels = 4, .expanded = 8, .groups = 2});
  for (Parameter& parameter : block.parameters()) {
    if (parameter.tensor.dim() == 4) {
      parameter.tensor.set_data(
          at::ones(parameter.tensor.sizes()).contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
  const at::Tensor y = features_of(block, at::ones({kExamples, 4, 6, 6}));
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(Resampling, UpSpreadsEachPixelByTheFilter) {
  ResamplingBlock up({.direction = Resampling::kUp, .in = 2, .out = 2});
  EXPECT_TRUE(up.parameters().empty());
  at::Tensor x = at::zeros({1, 2, 4, 4}, at::kDouble);
  x[0][1][1][2] = 1.0;
  const at::Tensor y = features_of(up, x);
  EXPECT_EQ(y.sizes().vec(), (std::vector<std::int64_t>{1, 2, 8, 8}));
  EXPECT_TRUE(y[0][1].slice(0, 1, 5).slice(1, 3, 7).equal(filter() * 4.0));
  EXPECT_EQ(y.sum().item<double>(), 4.0);
}

TEST(Resampling, DownWeighsEachPixelByTheFilter) {
  ResamplingBlock down({.direction = Resampling::kDown, .in = 2, .out = 2});
  const at::Tensor x = random_double(1, {1, 2, 8, 8});
  const at::Tensor y = features_of(down, x);
  EXPECT_EQ(y.sizes().vec(), (std::vector<std::int64_t>{1, 2, 4, 4}));
  const at::Tensor seen = x[0][1].slice(0, 1, 5).slice(1, 3, 7);  // the window of pixel (1, 2)
  EXPECT_NEAR(y[0][1][1][2].item<double>(), (seen * filter()).sum().item<double>(), 1e-14);
}

TEST(Resampling, KeepsWhatIsFlatAwayFromTheBorder) {
  ResamplingBlock up({.direction = Resampling::kUp, .in = 1, .out = 1});
  ResamplingBlock down({.direction = Resampling::kDown, .in = 1, .out = 1});
  const at::Tensor flat = at::full({1, 1, 8, 8}, 3.0);
  EXPECT_TRUE(features_of(up, flat).slice(2, 1, 15).slice(3, 1, 15).eq(3.0).all().item<bool>());
  EXPECT_TRUE(features_of(down, flat).slice(2, 1, 3).slice(3, 1, 3).eq(3.0).all().item<bool>());
}

TEST(Resampling, ChangesTheChannelsOfTheSmallerMaps) {
  const auto up =
      made_of<ResamplingBlock>(ResamplingSpec{.direction = Resampling::kUp, .in = 3, .out = 5});
  const auto down =
      made_of<ResamplingBlock>(ResamplingSpec{.direction = Resampling::kDown, .in = 3, .out = 5});
  const at::Tensor x = random_double(1, {kExamples, 3, 4, 4});
  for (Block* block : {up.get(), down.get()}) {
    ASSERT_EQ(block->parameters().size(), 1U);
    EXPECT_EQ(block->parameters()[0].tensor.sizes().vec(), (std::vector<std::int64_t>{5, 3, 1, 1}));
  }
  ResamplingBlock plain_up({.direction = Resampling::kUp, .in = 5, .out = 5});
  ResamplingBlock plain_down({.direction = Resampling::kDown, .in = 3, .out = 3});
  const at::Tensor wide = at::conv2d(x, up->parameters()[0].tensor.detach());
  EXPECT_LT(distance(features_of(*up, x), features_of(plain_up, wide)), 1e-12);
  const at::Tensor small = features_of(plain_down, x);
  EXPECT_LT(
      distance(features_of(*down, x), at::conv2d(small, down->parameters()[0].tensor.detach())),
      1e-12);
}

TEST(GenerativeBasis, WeighsAMapForEachChannelByTheNoise) {
  const auto block = made_of<GenerativeBasis>(GenerativeBasisSpec{.in = 5, .channels = 3});
  const at::NoGradGuard no_grad;
  const at::Tensor noise = random_double(1, {kExamples, 5});
  const at::Tensor maps = output_of(*block, {{"noise", noise}});
  EXPECT_EQ(maps.sizes().vec(), (std::vector<std::int64_t>{kExamples, 3, 4, 4}));
  const at::Tensor basis = block->parameters()[0].tensor.detach();
  const at::Tensor strength = (block->parameters()[1].tensor.detach()[2] * noise[1]).sum();
  EXPECT_LT(distance(maps[1][2], basis[2] * strength), 1e-12);
}

TEST(DiscriminativeBasis, IsADepthwiseConvolutionOfTheWholeMapAndALinearMap) {
  const auto block = made_of<DiscriminativeBasis>(DiscriminativeBasisSpec{.channels = 3, .out = 2});
  const at::Tensor x = random_double(1, {kExamples, 3, 4, 4});
  const at::Tensor depthwise =
      at::conv2d(x, block->parameters()[0].tensor.detach().unsqueeze(1), {}, /*stride=*/1,
                 /*padding=*/at::IntArrayRef{0}, /*dilation=*/1, /*groups=*/3);
  const at::Tensor expected =
      at::linear(depthwise.flatten(1), block->parameters()[1].tensor.detach());
  EXPECT_LT(distance(features_of(*block, x), expected), 1e-12);
}

TEST(LabelBlocks, TakeTheRowOfTheLabel) {
  const auto embedding = made_of<LabelEmbedding>(LabelEmbeddingSpec{.classes = 4, .features = 3});
  const auto product = made_of<LabelProduct>(LabelProductSpec{.classes = 4, .features = 3});
  const at::NoGradGuard no_grad;
  const at::Tensor labels = at::tensor({2, 0, 2}, at::kLong);
  const at::Tensor noise = random_double(1, {kExamples, 5});
  const at::Tensor joined = output_of(*embedding, {{"noise", noise}, {"labels", labels}});
  EXPECT_TRUE(joined.slice(1, 0, 5).equal(noise));
  EXPECT_TRUE(
      joined.slice(1, 5, 8).equal(embedding->parameters()[0].tensor.index_select(0, labels)));
  const at::Tensor x = random_double(2, {kExamples, 3});
  const at::Tensor logits = output_of(*product, {{"features", x}, {"labels", labels}});
  const at::Tensor rows = product->parameters()[0].tensor.index_select(0, labels);
  EXPECT_LT(distance(logits, (x * rows).sum(1, true)), 1e-12);
}

// --- Derivatives ---------------------------------------------------------------------------------

struct Probe {
  std::string name;
  std::unique_ptr<Block> block;
  std::string input;
  at::Tensor x;
};

std::vector<Probe> probes() {
  std::vector<Probe> all;
  const at::Tensor maps = random_double(1, {kExamples, 4, 6, 6});
  const at::Tensor basis = random_double(2, {kExamples, 4, 4, 4});
  const at::Tensor vectors = random_double(3, {kExamples, 4});
  const auto resampling = [](Resampling direction, std::int64_t out) {
    return made_of<ResamplingBlock>(ResamplingSpec{.direction = direction, .in = 4, .out = out});
  };
  all.push_back({"residual",
                 made_of<ResidualBlock>(ResidualSpec{.channels = 4, .expanded = 8, .groups = 2}),
                 "features", maps});
  all.push_back({"up", resampling(Resampling::kUp, 4), "features", maps});
  all.push_back({"up with channels", resampling(Resampling::kUp, 3), "features", maps});
  all.push_back({"down", resampling(Resampling::kDown, 4), "features", maps});
  all.push_back({"down with channels", resampling(Resampling::kDown, 3), "features", maps});
  all.push_back({"generative basis",
                 made_of<GenerativeBasis>(GenerativeBasisSpec{.in = 4, .channels = 3}), "noise",
                 vectors});
  all.push_back({"discriminative basis",
                 made_of<DiscriminativeBasis>(DiscriminativeBasisSpec{.channels = 4, .out = 2}),
                 "features", basis});
  all.push_back({"label embedding",
                 made_of<LabelEmbedding>(LabelEmbeddingSpec{.classes = 5, .features = 2}), "noise",
                 vectors});
  all.push_back({"label product",
                 made_of<LabelProduct>(LabelProductSpec{.classes = 5, .features = 4}), "features",
                 vectors});
  return all;
}

/// Compares derivatives of `function` by each of `leaves` with differences along random
/// directions.
void expect_derivatives(const std::function<at::Tensor()>& function,
                        const std::vector<at::Tensor>& leaves) {
  constexpr double kStep = 1e-6;
  const torch::autograd::variable_list gradients =
      torch::autograd::grad({function()}, leaves, {}, std::nullopt, /*create_graph=*/false,
                            /*allow_unused=*/true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const at::Tensor direction =
        random_double(200 + static_cast<std::int32_t>(i), leaves[i].sizes());
    const at::Tensor before = leaves[i].detach().clone();
    const auto moved = [&](double by) {
      leaves[i].data().copy_(before + direction * by);
      const double value = function().item<double>();
      leaves[i].data().copy_(before);
      return value;
    };
    const double slope = (moved(kStep) - moved(-kStep)) / (2.0 * kStep);
    const double expected =
        gradients[i].defined() ? (gradients[i] * direction).sum().item<double>() : 0.0;
    EXPECT_NEAR(expected, slope, 1e-6 * std::max(10.0, std::abs(slope))) << "tensor " << i;
  }
}

TEST(Derivatives, OfEveryBlockAreThoseByDifferences) {
  for (Probe& probe : probes()) {
    SCOPED_TRACE(probe.name);
    const at::Tensor labels = at::tensor({4, 1, 4}, at::kLong);
    const at::Tensor x = probe.x.clone().requires_grad_(true);
    const auto output = [&] {
      return output_of(*probe.block, {{probe.input, x}, {"labels", labels}});
    };
    const at::Tensor weights = random_double(4, output().sizes()).requires_grad_(true);
    const auto value = [&] { return (output() * weights).sum(); };
    std::vector<at::Tensor> leaves{x, weights};
    for (const Parameter& parameter : probe.block->parameters()) {
      leaves.push_back(parameter.tensor);
    }
    expect_derivatives(value, leaves);
    const auto penalty = [&] {  // the form of R1
      return torch::autograd::grad({value()}, {x}, {}, true, /*create_graph=*/true)
          .front()
          .square()
          .sum();
    };
    expect_derivatives(penalty, leaves);
  }
}

}  // namespace
}  // namespace gangway::gan
