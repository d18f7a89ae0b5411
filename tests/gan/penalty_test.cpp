// SPDX-License-Identifier: MIT
// Compares gradients of the penalties, computed block by block, with double backward through the
// whole network.
#include "gan/losses/penalty.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

struct Case {
  std::string name;
  std::string_view family = "dcgan";
  Normalization normalization = Normalization::kNone;
  Activation activation = Activation::kLeakyRelu;
  int classes = 0;
  double dropout = 0.0;
};

constexpr std::int64_t kExamples = 6;
constexpr double kWeight = 10.0;

JobSpec job_of(const Case& which) {
  JobSpec job;
  job.model.family = family_named(which.family);
  job.model.width = which.family == "mlp" ? 16 : 4;
  job.model.resolution = which.family == "infogan" ? 28 : 32;
  job.model.classes = which.classes;
  job.model.normalization = which.normalization;
  job.model.activation = which.activation;
  job.model.dropout = which.dropout;
  return job;
}

/// Enlarges the weights, so that penalties and second derivatives are not near zero.
Network discriminator_of(const JobSpec& job) {
  Network network = std::move(build_networks(job)[kDiscriminator]);
  const at::NoGradGuard no_grad;
  std::int32_t position = 0;
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const double scale =
        tensor.dim() > 1 ? 1.0 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.3;
    tensor.copy_(
        keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU).mul_(scale));
  }
  return network;
}

NamedTensors inputs_of(const JobSpec& job) {
  std::vector<std::int64_t> shape = example_shape(job.model);
  shape.insert(shape.begin(), kExamples);
  return {
      {"image", keyed_normal({.seed = 6}, shape, at::kCPU)},
      {"labels", keyed_labels({.seed = 7}, kExamples, std::max(1, job.model.classes), at::kCPU)}};
}

/// Returns |a - b| / |b| over all tensors together, so that vanishing gradients need no extra case.
double relative_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i].to(at::kDouble) - b[i].to(at::kDouble)).square().sum().item<double>();
    size += b[i].to(at::kDouble).square().sum().item<double>();
  }
  EXPECT_GT(size, 0.0);
  return std::sqrt(difference / size);
}

struct Result {
  double penalty = 0.0;
  std::vector<at::Tensor> gradients;
};

const ForwardContext kContext{.key = {.seed = 8, .step = 3}};

Result blockwise(Network& network, PenaltyKind kind, const NamedTensors& in) {
  BlockwisePenalty penalty(network, kind, kWeight);
  penalty.forward(in, kContext);
  const double value = penalty.backward().item<double>();
  return {value, taken_gradients(network)};
}

class PenaltyGradients : public testing::TestWithParam<Case> {};

TEST_P(PenaltyGradients, EqualTheWholeNetworksInFloat64) {
  const JobSpec job = job_of(GetParam());
  NamedTensors in = inputs_of(job);
  in = in.with("image", in.at("image").to(at::kDouble));
  for (const at::MemoryFormat format :
       {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    Network network = discriminator_of(job);
    make_double(network, format);
    for (const PenaltyKind kind : {PenaltyKind::kR1, PenaltyKind::kGradientPenalty}) {
      expect_penalty_of_whole_network(network, kind, in, kContext);
    }
  }
}

TEST_P(PenaltyGradients, HaveTheSameBitsEachTime) {
  const JobSpec job = job_of(GetParam());
  Network network = discriminator_of(job);
  const NamedTensors in = inputs_of(job);
  const Result first = blockwise(network, PenaltyKind::kR1, in);
  const Result second = blockwise(network, PenaltyKind::kR1, in);
  for (std::size_t i = 0; i < first.gradients.size(); ++i) {
    EXPECT_TRUE(first.gradients[i].equal(second.gradients[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Discriminators, PenaltyGradients,
    testing::Values(
        Case{.name = "LeakyRelu"}, Case{.name = "Softplus", .activation = Activation::kSoftplus},
        Case{.name = "LeakyReluBatchNorm", .normalization = Normalization::kBatch},
        Case{.name = "SoftplusBatchNorm",
             .normalization = Normalization::kBatch,
             .activation = Activation::kSoftplus},
        Case{.name = "Conditional", .classes = 10},
        Case{.name = "ConditionalSoftplusBatchNorm",
             .normalization = Normalization::kBatch,
             .activation = Activation::kSoftplus,
             .classes = 10},
        Case{.name = "Dropout", .activation = Activation::kSoftplus, .dropout = 0.3},
        Case{.name = "Infogan", .family = "infogan", .activation = Activation::kSoftplus},
        Case{.name = "Mlp", .family = "mlp", .activation = Activation::kSoftplus}),
    [](const testing::TestParamInfo<Case>& which) { return which.param.name; });

TEST(Penalty, AddsToTheGradientsThatAreThere) {
  const JobSpec job = job_of({.name = "", .activation = Activation::kSoftplus});
  Network network = discriminator_of(job);
  const NamedTensors in = inputs_of(job);
  const Result once = blockwise(network, PenaltyKind::kR1, in);
  BlockwisePenalty penalty(network, PenaltyKind::kR1, kWeight);
  for (int pass = 0; pass < 2; ++pass) {
    penalty.forward(in, kContext);
    static_cast<void>(penalty.backward());
  }
  std::vector<at::Tensor> twice = taken_gradients(network);
  for (at::Tensor& gradient : twice) {
    gradient = gradient / 2.0;
  }
  EXPECT_LT(relative_difference(twice, once.gradients), 1e-6);
}

/// features * (1 + skip)
class Gate final : public Block {
 public:
  Gate() : Block({{"features", "skip"}, {"features"}}) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext&) override {
    return in.with("features", in.at("features") * (1.0 + in.at("skip")));
  }
};

/// Appends the image to the features.
class ImageBehindFeatures final : public Block {
 public:
  ImageBehindFeatures() : Block({{"features", "image"}, {"features"}}) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in, const ForwardContext&) override {
    return in.with("features", at::cat({in.at("features"), in.at("image")}, 1));
  }
};

/// A network with tensors of several consumers, a skip over blocks, the image in two places, and a
/// block that does not depend on the image.
Network branching_network() {
  const auto layer = [](const std::string& input, const std::string& output, std::int64_t in) {
    return std::make_unique<LayerBlock>(LayerSpec{.in = in,
                                                  .out = 8,
                                                  .bias = true,
                                                  .activation = Activation::kSoftplus,
                                                  .input = input,
                                                  .output = output,
                                                  .initial_scale = 0.5});
  };
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(layer("label", "style", 3));
  blocks.push_back(layer("image", "features", 5));
  blocks.push_back(layer("features", "skip", 8));
  blocks.push_back(layer("features", "features", 8));
  blocks.push_back(std::make_unique<Gate>());
  blocks.push_back(layer("style", "skip", 8));
  blocks.push_back(std::make_unique<Gate>());
  blocks.push_back(std::make_unique<ImageBehindFeatures>());
  blocks.push_back(
      std::make_unique<LayerBlock>(LayerSpec{.in = 13, .out = 1, .initial_scale = 0.5}));
  Network network("discriminator", std::move(blocks));
  network.initialise(3);
  return network;
}

TEST(Penalty, OfANetworkWithSkipsEqualsTheWholeNetworks) {
  Network network = branching_network();
  make_double(network);
  const NamedTensors in{
      {"image", keyed_normal({.seed = 1}, {kExamples, 5}, at::kCPU).to(at::kDouble)},
      {"label", keyed_normal({.seed = 2}, {kExamples, 3}, at::kCPU).to(at::kDouble)}};
  for (const PenaltyKind kind : {PenaltyKind::kR1, PenaltyKind::kGradientPenalty}) {
    expect_penalty_of_whole_network(network, kind, in);
  }
}

/// As blockwise(), with an object per chunk; tensors go between them by name. @param ends  of
/// chunks
Result in_chunks(Network& network, PenaltyKind kind, const NamedTensors& in,
                 const std::vector<int>& ends) {
  std::deque<BlockwisePenalty> chunks;
  int begin = 0;
  for (const int end : ends) {
    chunks.emplace_back(network, kind, kWeight, BlockRange{begin, end});
    begin = end;
  }
  NamedTensors made = in;
  for (BlockwisePenalty& chunk : chunks) {
    made = chunk.sweeps().forward(made, kContext);
  }
  BlockSweeps::ByName flowing = chunks.back().last_cotangents(made, kContext.key);
  for (BlockwisePenalty& chunk : std::views::reverse(chunks)) {
    flowing = chunk.sweeps().cotangents(std::move(flowing));
  }
  Result result{chunks.front().measure(flowing, nullptr).item<double>(), {}};
  flowing = chunks.front().pulled(1.0);
  for (BlockwisePenalty& chunk : chunks) {
    flowing = chunk.sweeps().second_order(std::move(flowing), &chunk == &chunks.back()
                                                                  ? BlockSweeps::Adds::kAtOnce
                                                                  : BlockSweeps::Adds::kLater);
  }
  flowing.clear();
  for (BlockwisePenalty& chunk : std::views::reverse(chunks)) {
    flowing = chunk.sweeps().adjoints(std::move(flowing), {});
  }
  result.gradients = taken_gradients(network);
  return result;
}

TEST(Penalty, OfChunksHasTheBitsOfTheWhole) {
  Network network = branching_network();
  const NamedTensors in{{"image", keyed_normal({.seed = 1}, {kExamples, 5}, at::kCPU)},
                        {"label", keyed_normal({.seed = 2}, {kExamples, 3}, at::kCPU)}};
  const auto num_blocks = static_cast<int>(network.num_blocks());
  for (const PenaltyKind kind : {PenaltyKind::kR1, PenaltyKind::kGradientPenalty}) {
    const Result expected = blockwise(network, kind, in);
    for (int first = 1; first < num_blocks; ++first) {
      for (int second = first + 1; second <= num_blocks; ++second) {
        const std::vector<int> ends = second < num_blocks ? std::vector{first, second, num_blocks}
                                                          : std::vector{first, num_blocks};
        const Result result = in_chunks(network, kind, in, ends);
        EXPECT_EQ(result.penalty, expected.penalty);
        for (std::size_t i = 0; i < result.gradients.size(); ++i) {
          EXPECT_TRUE(result.gradients[i].equal(expected.gradients[i]))
              << "tensor " << i << ", cut before " << first << " and " << second;
        }
      }
    }
  }
}

TEST(Penalty, TellsOfEachBlockOnceAndLastToFirst) {
  Network network = branching_network();
  BlockwisePenalty penalty(network, PenaltyKind::kR1, kWeight);
  penalty.forward({{"image", keyed_normal({.seed = 1}, {kExamples, 5}, at::kCPU)},
                   {"label", keyed_normal({.seed = 2}, {kExamples, 3}, at::kCPU)}},
                  kContext);
  std::vector<std::size_t> blocks;
  static_cast<void>(penalty.backward([&](std::size_t block) { blocks.push_back(block); }));
  EXPECT_EQ(blocks, (std::vector<std::size_t>{8, 7, 6, 5, 4, 3, 2, 1, 0}));
}

// For logits w.x the input gradient is w, so R1 is weight / 2 |w|^2 and its gradient weight * w.
TEST(Penalty, OfALinearDiscriminatorHasAClosedForm) {
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.push_back(std::make_unique<LayerBlock>(LayerSpec{.in = 5, .out = 1, .input = "image"}));
  Network network("discriminator", std::move(blocks));
  at::Tensor& weight = network.block(0).parameters()[0].tensor;
  {
    const at::NoGradGuard no_grad;
    weight.copy_(at::tensor({0.5, -1.0, 2.0, 0.25, -0.75}, at::kFloat).unsqueeze(0));
  }
  const double squared = weight.detach().square().sum().item<double>();
  const NamedTensors in{{"image", keyed_normal({.seed = 1}, {3, 5}, at::kCPU)}};
  const Result r1 = blockwise(network, PenaltyKind::kR1, in);
  EXPECT_NEAR(r1.penalty, kWeight / 2.0 * squared, 1e-5);
  EXPECT_LT(relative_difference(r1.gradients, {weight.detach() * kWeight}), 1e-6);
  const Result gradient_penalty = blockwise(network, PenaltyKind::kGradientPenalty, in);
  const double norm = std::sqrt(squared);
  EXPECT_NEAR(gradient_penalty.penalty, kWeight * (norm - 1.0) * (norm - 1.0), 1e-4);
  EXPECT_LT(relative_difference(gradient_penalty.gradients,
                                {weight.detach() * (2.0 * kWeight * (norm - 1.0) / norm)}),
            1e-6);
}

}  // namespace
}  // namespace gangway::gan
