// SPDX-License-Identifier: MIT
// BigGAN's networks and their regularisation. tests/gan/networks_reference.py compares their values
// with PyTorch's modules.
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/blocks/spectral_blocks.hpp"
#include "gan/losses/orthogonal.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/statistic_sums.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

JobSpec biggan_of(int classes, int attention = 16) {
  JobSpec job;
  job.model = {.family = family_named("biggan"),
               .width = 4,
               .attention = attention,
               .latent = 9,
               .channels = 3,
               .classes = classes};
  return job;
}

PerNetwork<Network> biggans(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  networks[kGenerator].initialise(1);
  networks[kDiscriminator].initialise(1);
  return networks;
}

NamedTensors noise_and_labels(const JobSpec& job, std::int64_t count) {
  return {{"noise", keyed_normal({.seed = 2}, {count, job.model.latent}, at::kCPU)},
          {"labels", at::arange(count)}};
}

TEST(Biggan, BeginsWithOrthogonalMaps) {
  PerNetwork<Network> networks = biggans(biggan_of(10));
  int num_maps = 0;
  for (const NetworkId id : {kGenerator, kDiscriminator}) {
    for (const Network::NamedParameter& named : networks[id].parameters()) {
      if (named.parameter->initial != Initial::kOrthogonal) {
        continue;
      }
      const at::Tensor rows = named.parameter->tensor.detach().flatten(1);
      const at::Tensor products =
          rows.size(0) <= rows.size(1) ? rows.mm(rows.t()) : rows.t().mm(rows);
      EXPECT_LE((products - at::eye(products.size(0))).abs().max().item<double>(), 1e-5)
          << named.name;
      ++num_maps;
    }
  }
  EXPECT_GT(num_maps, 40);
  PerNetwork<Network> again = biggans(biggan_of(10));
  const auto first = networks[kGenerator].parameters();
  const auto second = again[kGenerator].parameters();
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].parameter->tensor.equal(second[i].parameter->tensor)) << first[i].name;
  }
}

TEST(Biggan, ShowsAnotherPictureForAnotherLabelAndAnotherPieceOfNoise) {
  const at::NoGradGuard no_grad;
  const JobSpec job = biggan_of(10);
  Network network = std::move(biggans(job)[kGenerator]);
  const ForwardContext context{.mode = Mode::kEvaluation};
  const at::Tensor noise = keyed_normal({.seed = 2}, {1, 9}, at::kCPU);
  const auto picture = [&](const at::Tensor& of, std::int64_t label) {
    return network.forward({{"noise", of}, {"labels", at::full({1}, label, at::kLong)}}, context);
  };
  const at::Tensor first = picture(noise, 1);
  EXPECT_TRUE(picture(noise, 1).equal(first));
  EXPECT_FALSE(picture(noise, 2).equal(first));
  for (const std::int64_t element : {0, 3, 5, 8}) {  // of the stem and of three blocks
    const at::Tensor other = noise.clone();
    other.select(1, element).add_(1.0);
    EXPECT_FALSE(picture(other, 1).equal(first)) << element;
  }
}

TEST(Biggan, BeginsAsIfItHadNoAttention) {
  const at::NoGradGuard no_grad;
  SpectralAttention block(SpectralAttentionSpec{.channels = 8});
  for (Parameter& parameter : block.parameters()) {
    parameter.tensor.fill_(parameter.name == "gain" ? 0.0 : 0.3);
  }
  const at::Tensor x = keyed_normal({.seed = 5}, {2, 8, 8, 8}, at::kCPU);
  const auto made = [&] { return block.forward({{"features", x}}, {}).at("features"); };
  EXPECT_TRUE(made().equal(x));
  block.parameters().back().tensor.fill_(0.5);
  EXPECT_FALSE(made().equal(x));
}

/// Returns the largest singular value of `weight`, by LibTorch's decomposition.
double greatest(const at::Tensor& weight) {
  return at::linalg_svdvals(weight.detach().flatten(1)).max().item<double>();
}

TEST(SpectralNorm, ComesToTheGreatestSingularValueUpdateByUpdate) {
  const at::NoGradGuard no_grad;
  const SpectralStemSpec spec{.taken = 3, .channels = 1};
  SpectralStem block(spec);
  Parameter& weight = block.parameters().front();
  weight.tensor.copy_(keyed_normal({.seed = 8}, weight.tensor.sizes(), at::kCPU));
  Statistic& direction = block.statistics().front();
  EXPECT_EQ(direction.name, "linear.direction");
  const NamedTensors in{{"noise", at::eye(3)}};
  const auto step = [&] {
    StatisticSums sums;
    const at::Tensor made = block.forward(in, {.sink = &sums}).at("features");
    direction.running.copy_(sums.of(direction));
    return made.flatten(1).t();  // the weight over its norm
  };
  for (int update = 0; update < 200; ++update) {
    (void)step();
  }
  EXPECT_NEAR(greatest(step()), 1.0, 1e-5);
  EXPECT_NEAR(direction.running.norm().item<double>(), 1.0, 1e-6);
}

TEST(SpectralNorm, IsTheSameWhateverTheExamplesAre) {
  const at::NoGradGuard no_grad;
  const JobSpec job = biggan_of(10);
  Network network = std::move(biggans(job)[kGenerator]);
  std::vector<StatisticSums> sums(2);
  (void)network.forward(noise_and_labels(job, 2), {.sink = &sums[0]});
  (void)network.forward(noise_and_labels(job, 5), {.sink = &sums[1]});
  for (const Network::NamedStatistic& named : network.statistics()) {
    const bool is_direction = named.statistic->momentum == 1.0;
    EXPECT_EQ(sums[0].of(*named.statistic).equal(sums[1].of(*named.statistic)), is_direction)
        << named.name;
  }
}

TEST(Biggan, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const int classes : {0, 10}) {
    Network network = std::move(biggans(biggan_of(classes))[kDiscriminator]);
    make_double(network);
    for (const Network::NamedParameter& named : network.parameters()) {
      if (named.parameter->name == "gain") {  // activates the attention
        named.parameter->tensor.set_data(at::full({1}, 0.7, at::kDouble));
      }
    }
    expect_penalty_of_whole_network(
        network, PenaltyKind::kR1,
        {{"image", keyed_normal({.seed = 6}, {2, 3, 32, 32}, at::kCPU).to(at::kDouble)},
         {"labels", at::tensor({1, 7}, at::kLong)}});
  }
}

TEST(OrthogonalRegularisation, HasTheGradientOfItsDefinition) {
  Network network = std::move(biggans(biggan_of(10))[kGenerator]);
  make_double(network);
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const Network::NamedParameter& named : network.parameters()) {
    const at::Tensor& tensor = named.parameter->tensor;
    const at::NoGradGuard no_grad;
    tensor.add_(keyed_normal({.seed = 4}, tensor.sizes(), at::kCPU), 0.1);
  }
  for (const Network::NamedParameter& named : network.parameters()) {
    const at::Tensor& tensor = named.parameter->tensor;
    if (tensor.dim() >= 2 && named.parameter->name != "embedding") {
      const at::Tensor products = tensor.flatten(1).mm(tensor.flatten(1).t());
      loss = loss + (products * (1.0 - at::eye(products.size(0)))).square().sum();
    }
  }
  torch::autograd::backward({loss * 1e-4}, {});
  const std::vector<at::Tensor> reference = taken_gradients(network);
  add_orthogonal_gradient(network, 1e-4);
  expect_same_gradients(network, taken_gradients(network), reference);
}

TEST(OrthogonalRegularisation, AddsToWhatIsThere) {
  Network network = std::move(biggans(biggan_of(0))[kGenerator]);
  add_orthogonal_gradient(network, 0.5);
  add_orthogonal_gradient(network, 0.5);
  const std::vector<at::Tensor> twice = taken_gradients(network);
  add_orthogonal_gradient(network, 1.0);
  const std::vector<at::Tensor> once = taken_gradients(network);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_TRUE(twice[i].equal(once[i])) << network.parameters()[i].name;
  }
}

}  // namespace
}  // namespace gangway::gan
