// SPDX-License-Identifier: MIT
// StyleGAN2's networks. tests/gan/networks_reference.py compares their values with PyTorch's
// modules.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/residual_blocks.hpp"
#include "gan/blocks/style_blocks.hpp"
#include "gan/blocks/style_judges.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/gan/whole_network_path_length.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using Shape = std::vector<std::int64_t>;

JobSpec stylegan2_of(int resolution, int classes) {
  JobSpec job;
  job.model = {.family = family_named("stylegan2"),
               .resolution = resolution,
               .width = 4,
               .latent = 6,
               .channels = 3,
               .classes = classes,
               .mapping_layers = 2};
  return job;
}

/// Makes networks with random weights, also where training begins with zero.
PerNetwork<Network> networks_of(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  std::int32_t position = 0;
  for (Network* network : {&networks[kGenerator], &networks[kDiscriminator]}) {
    for (const Network::NamedParameter& named : network->parameters()) {
      at::Tensor& tensor = named.parameter->tensor;
      const bool is_slow = named.name.find("/layer") != std::string::npos;
      tensor.set_data(keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU)
                          .mul_(is_slow ? 100.0 : 1.0));
    }
  }
  return networks;
}

NamedTensors style_inputs(const JobSpec& job, std::int64_t count,
                          at::ScalarType precision = at::kFloat) {
  return {{"noise", keyed_normal({.seed = 2}, {count, job.model.latent}, at::kCPU).to(precision)},
          {"labels", at::arange(count)}};
}

TEST(Stylegan2, DrawsByItsKeyInTrainingAndNothingInEvaluation) {
  const at::NoGradGuard no_grad;
  const JobSpec job = stylegan2_of(32, 0);
  Network network = std::move(networks_of(job)[kGenerator]);
  const auto made = [&](Mode mode, std::int32_t pass) {
    return network.forward(style_inputs(job, 2), {.mode = mode, .key = {.seed = 9, .pass = pass}});
  };
  EXPECT_TRUE(made(Mode::kTraining, 1).equal(made(Mode::kTraining, 1)));
  EXPECT_FALSE(made(Mode::kTraining, 1).equal(made(Mode::kTraining, 2)));
  EXPECT_TRUE(made(Mode::kEvaluation, 1).equal(made(Mode::kEvaluation, 2)));
}

TEST(Stylegan2, ShowsAPictureTheSameInAnyCompany) {
  const at::NoGradGuard no_grad;
  const JobSpec job = stylegan2_of(32, 0);
  Network network = std::move(networks_of(job)[kGenerator]);
  const ForwardContext context{.mode = Mode::kEvaluation};
  const NamedTensors in = style_inputs(job, 3);
  const at::Tensor all = network.forward(in, context);
  const at::Tensor alone = network.forward({{"noise", in.at("noise").slice(0, 1, 2)}}, context);
  EXPECT_LE((all.slice(0, 1, 2) - alone).abs().max().item<float>(),
            1e-5F * all.abs().max().item<float>());
}

TEST(Stylegan2, MixesTwoStylesInNineOfTenExamplesFromAnyPlaceButTheFirstOn) {
  const at::NoGradGuard no_grad;
  const StyleMappingSpec spec{.latent = 4, .features = 4, .layers = 1, .count = 8, .mixing = 0.9};
  StyleMapping mapping(spec);
  for (Parameter& parameter : mapping.parameters()) {
    parameter.tensor.copy_(keyed_normal({.seed = 3}, parameter.tensor.sizes(), at::kCPU) * 100.0);
  }
  constexpr std::int64_t kExamples = 4000;
  const NamedTensors in{{"noise", keyed_normal({.seed = 2}, {kExamples, 4}, at::kCPU)}};
  const at::Tensor styles = mapping.forward(in, {.key = {.seed = 1}}).at(kStyles);
  const at::Tensor plain = mapping.forward(in, {.mode = Mode::kEvaluation}).at(kStyles);
  EXPECT_TRUE(plain.eq(plain.select(1, 0).unsqueeze(1)).all().item<bool>());
  const at::Tensor is_other = styles.ne(plain).any(2);  // [N, places]
  std::vector<double> begins;  // share of the examples whose second style begins at each place
  for (std::int64_t place = 0; place < spec.count; ++place) {
    at::Tensor begin = is_other.select(1, place);
    if (place > 0) {
      begin = begin.logical_and(is_other.select(1, place - 1).logical_not());
    }
    begins.push_back(begin.to(at::kDouble).mean().item<double>());
  }
  EXPECT_EQ(begins.front(), 0.0);
  for (std::size_t place = 1; place < begins.size(); ++place) {
    EXPECT_NEAR(begins[place], 0.9 / 7.0, 0.03) << place;
  }
  EXPECT_TRUE(is_other.to(at::kInt).diff(1, 1).ge(0).all().item<bool>());  // to the end
  EXPECT_NEAR(is_other.any(1).to(at::kDouble).mean().item<double>(), 0.9, 0.02);
}

TEST(Stylegan2, MixesNothingWhereNothingIsToBeMixed) {
  const at::NoGradGuard no_grad;
  JobSpec job = stylegan2_of(32, 0);
  job.model.style_mixing = 0.0;
  Network network = std::move(networks_of(job)[kGenerator]);
  const at::Tensor styles =
      network.forward_block(0, style_inputs(job, 5), {.key = {.seed = 1}}).at(kStyles);
  EXPECT_TRUE(styles.eq(styles.select(1, 0).unsqueeze(1)).all().item<bool>());
}

TEST(Stylegan2, NormalizesForTheStyleWhateverItsSize) {
  const at::NoGradGuard no_grad;
  const StyleLayerSpec spec{.in = 3, .out = 5, .features = 2, .side = 4};
  StyleLayer layer(spec);
  std::int32_t draw = 0;
  for (Parameter& parameter : layer.parameters()) {
    parameter.tensor.copy_(
        parameter.name == "noise_strength" || parameter.name.ends_with("bias")
            ? at::zeros_like(parameter.tensor)
            : keyed_normal({.seed = 4, .draw = draw++}, parameter.tensor.sizes(), at::kCPU));
  }
  const at::Tensor features = keyed_normal({.seed = 6}, {2, 3, 4, 4}, at::kCPU);
  const at::Tensor styles = keyed_normal({.seed = 7}, {2, 1, 2}, at::kCPU);
  const at::Tensor made =
      layer.forward({{"features", features}, {kStyles, styles}}, {}).at("features");
  const at::Tensor louder =
      layer.forward({{"features", features}, {kStyles, styles * 50.0}}, {}).at("features");
  EXPECT_LE((made - louder).abs().max().item<float>(), 1e-5F);
}

TEST(Stylegan2, SmoothsByAnOperatorWhoseAdjointIsItself) {
  for (const std::int64_t padding : {1, 2}) {
    const at::Tensor x =
        keyed_normal({.seed = 1}, {2, 3, 6, 6}, at::kCPU).to(at::kDouble).requires_grad_(true);
    const at::Tensor y = smoothed(x, padding, 2.0);
    EXPECT_EQ(y.size(2), 6 + 2 * padding - 3);
    const at::Tensor cotangent =
        keyed_normal({.seed = 2}, y.sizes(), at::kCPU).to(at::kDouble).requires_grad_(true);
    const at::Tensor gradient =
        torch::autograd::grad({y}, {x}, {cotangent}, true, /*create_graph=*/true).front();
    EXPECT_NEAR((gradient * x).sum().item<double>(), (y * cotangent).sum().item<double>(), 1e-12);
    const at::Tensor back = torch::autograd::grad({gradient}, {cotangent}, {x.detach()}).front();
    EXPECT_LE((back - y).abs().max().item<double>(), 1e-12);
  }
  const at::Tensor inside = smoothed(at::ones({1, 1, 8, 8}), 2).slice(2, 3, 6).slice(3, 3, 6);
  EXPECT_LE((inside - 1.0).abs().max().item<float>(), 1e-6F);
}

TEST(Stylegan2, ComparesAsManyOfAMicrobatchAsDivideIt) {
  EXPECT_EQ(deviation_group(1, 4), 1);
  EXPECT_EQ(deviation_group(2, 4), 2);
  EXPECT_EQ(deviation_group(3, 4), 3);
  EXPECT_EQ(deviation_group(5, 4), 1);
  EXPECT_EQ(deviation_group(6, 4), 3);
  EXPECT_EQ(deviation_group(8, 4), 4);
  EXPECT_EQ(deviation_group(12, 4), 4);
  EXPECT_EQ(deviation_group(12, 8), 6);
  EXPECT_EQ(deviation_group(4, 32), 4);
}

TEST(Stylegan2, JudgesExamplesByTheirGroup) {
  const at::NoGradGuard no_grad;
  const JobSpec job = stylegan2_of(32, 0);
  Network network = std::move(networks_of(job)[kDiscriminator]);
  const at::Tensor pictures = keyed_normal({.seed = 4}, {8, 3, 32, 32}, at::kCPU);
  const at::Tensor logits = network.forward({{"image", pictures}}, {});
  at::Tensor changed = pictures.clone();
  changed[7].zero_();
  const at::Tensor now = network.forward({{"image", changed}}, {});
  for (const std::int64_t example : {0, 2, 4, 6}) {  // the other group
    EXPECT_NEAR(now[example].item<float>(), logits[example].item<float>(), 1e-4F) << example;
  }
  for (const std::int64_t example : {1, 3, 5}) {
    EXPECT_NE(now[example].item<float>(), logits[example].item<float>()) << example;
  }
}

TEST(Stylegan2, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const int classes : {0, 10}) {
    Network network = std::move(networks_of(stylegan2_of(32, classes))[kDiscriminator]);
    make_double(network);
    expect_penalty_of_whole_network(
        network, PenaltyKind::kR1,
        {{"image", keyed_normal({.seed = 6}, {4, 3, 32, 32}, at::kCPU).to(at::kDouble)},
         {"labels", at::arange(4)}});
  }
}

TEST(Stylegan2, HasThePathLengthsOfTheWholeNetworkBlockByBlock) {
  for (const int classes : {0, 10}) {
    const JobSpec job = stylegan2_of(32, classes);
    Network network = std::move(networks_of(job)[kGenerator]);
    make_double(network);
    Statistic& running = *network.statistics().front().statistic;
    EXPECT_EQ(network.statistics().front().name, "generator/0/path_length");
    running.running.fill_(0.25);
    const NamedTensors in = style_inputs(job, 3, at::kDouble);
    StatisticSums seen;
    const ForwardContext context{.sink = &seen, .key = {.seed = 9, .step = 4}};
    const WholePathLength expected = whole_network_path_length(network, 2.0, 0.25, in, context);
    torch::autograd::backward({expected.penalty}, {});
    const std::vector<at::Tensor> whole = taken_gradients(network);
    BlockwisePenalty sweeps(network, PenaltyKind::kPathLength, 2.0);
    sweeps.forward(in, context);
    const double value = sweeps.backward().item<double>();
    EXPECT_GT(value, 0.0);
    EXPECT_NEAR(value, expected.penalty.item<double>(), 1e-12 * value);
    expect_same_gradients(network, taken_gradients(network), whole);
    EXPECT_FLOAT_EQ(seen.of(running).item<float>(),
                    static_cast<float>(expected.mean_length.item<double>()));
    EXPECT_EQ(running.running.item<float>(), 0.25F);
  }
}

TEST(Stylegan2, HasPathLengthsWhereThereAreStylesAlone) {
  JobSpec job;
  job.model.width = 4;
  Network network = std::move(build_networks(job)[kGenerator]);
  BlockwisePenalty sweeps(network, PenaltyKind::kPathLength, 2.0);
  EXPECT_THROW(sweeps.forward({{"noise", at::ones({2, job.model.latent})}}, {}), InvariantError);
}

}  // namespace
}  // namespace gangway::gan
