// SPDX-License-Identifier: MIT
// R3GAN's networks as wholes. That their numbers are R3GAN's is shown by r3gan_reference.py.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"

namespace gangway::gan {
namespace {

JobSpec r3gan_of(int resolution, int classes) {
  JobSpec job;
  job.model = {.family = family_named("r3gan"),
               .resolution = resolution,
               .width = 4,
               .blocks = 1,
               .latent = 6,
               .channels = 3,
               .classes = classes};
  return job;
}

/// Leaves no weight at zero, where residual blocks begin.
void randomise(Network& network, at::ScalarType precision, at::MemoryFormat format) {
  std::int32_t position = 0;
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const double scale =
        tensor.dim() > 1 ? 1.0 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.3;
    const at::Tensor value =
        keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU).mul(scale);
    tensor.set_data(tensor.dim() == 4 ? value.to(precision).contiguous(format)
                                      : value.to(precision));
  }
}

TEST(R3gan, MakesAndJudgesPicturesOfEverySize) {
  const at::NoGradGuard no_grad;
  for (const int resolution : family_named("r3gan")->resolutions) {
    for (const int classes : {0, 10}) {
      SCOPED_TRACE(testing::Message() << resolution << " pixels, " << classes << " classes");
      const JobSpec job = r3gan_of(resolution, classes);
      PerNetwork<Network> networks = build_networks(job);
      for (Network* network : {&networks[kGenerator], &networks[kDiscriminator]}) {
        randomise(*network, at::kFloat, at::MemoryFormat::ChannelsLast);
      }
      const at::Tensor noise = keyed_normal({.seed = 2}, {2, job.model.latent}, at::kCPU);
      const at::Tensor labels = at::tensor({1, 7}, at::kLong);
      const at::Tensor images =
          networks[kGenerator].forward({{"noise", noise}, {"labels", labels}}, {});
      EXPECT_EQ(images.sizes().vec(), (std::vector<std::int64_t>{2, 3, resolution, resolution}));
      const at::Tensor logits =
          networks[kDiscriminator].forward({{"image", images}, {"labels", labels}}, {});
      EXPECT_EQ(logits.sizes().vec(), (std::vector<std::int64_t>{2, 1}));
      EXPECT_TRUE(logits.isfinite().all().item<bool>());
    }
  }
}

TEST(R3gan, BoundsItsPicturesByNothing) {
  const at::NoGradGuard no_grad;
  const JobSpec job = r3gan_of(32, 0);
  Network generator = std::move(build_networks(job)[kGenerator]);
  generator.initialise(1);
  const at::Tensor noise = keyed_normal({.seed = 2}, {2, job.model.latent}, at::kCPU);
  const at::Tensor images = generator.forward({{"noise", noise}}, {});
  const at::Tensor louder = generator.forward({{"noise", noise * 64.0}}, {});
  EXPECT_GT(louder.abs().max().item<float>(), 1.0F);
  // Residual blocks begin as the identity, so everything is linear, and 64 is a power of two.
  EXPECT_TRUE(louder.equal(images * 64.0));
}

TEST(R3gan, MakesAndJudgesByTheLabel) {
  const at::NoGradGuard no_grad;
  const JobSpec job = r3gan_of(32, 10);
  PerNetwork<Network> networks = build_networks(job);
  networks[kGenerator].initialise(1);
  networks[kDiscriminator].initialise(1);
  const at::Tensor noise = keyed_normal({.seed = 2}, {1, job.model.latent}, at::kCPU);
  const at::Tensor labels = at::tensor({1, 7}, at::kLong);
  const at::Tensor images =
      networks[kGenerator].forward({{"noise", noise.repeat({2, 1})}, {"labels", labels}}, {});
  EXPECT_FALSE(images[0].equal(images[1]));
  const at::Tensor same = images.slice(0, 0, 1).repeat({2, 1, 1, 1});
  const at::Tensor logits =
      networks[kDiscriminator].forward({{"image", same}, {"labels", labels}}, {});
  EXPECT_NE(logits[0].item<float>(), logits[1].item<float>());
}

struct Penalised {
  double value = 0.0;
  std::vector<at::Tensor> gradients;
};

Penalised take_gradients(Network& network, const at::Tensor& penalty) {
  Penalised result{.value = penalty.item<double>()};
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& gradient = named.parameter->tensor.mutable_grad();
    result.gradients.push_back(gradient.defined() ? gradient.clone()
                                                  : at::zeros_like(named.parameter->tensor));
    gradient.reset();
  }
  return result;
}

// In float64, so that no mistake of the order of float32's noise can hide.
TEST(R3gan, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const at::MemoryFormat format :
       {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const int classes : {0, 10}) {
      const JobSpec job = r3gan_of(64, classes);
      Network network = std::move(build_networks(job)[kDiscriminator]);
      randomise(network, at::kDouble, format);
      const NamedTensors in{
          {"image", keyed_normal({.seed = 6}, {2, 3, 64, 64}, at::kCPU).to(at::kDouble)},
          {"labels", at::tensor({1, 7}, at::kLong)}};
      const at::Tensor penalty =
          whole_network_penalty(network, PenaltyKind::kR1, 3.0, in, ForwardContext{});
      torch::autograd::backward({penalty}, {});
      const Penalised whole = take_gradients(network, penalty);
      BlockwisePenalty sweeps(network, PenaltyKind::kR1, 3.0);
      sweeps.forward(in, ForwardContext{});
      const Penalised blockwise = take_gradients(network, sweeps.backward());
      EXPECT_GT(whole.value, 0.0);
      EXPECT_NEAR(blockwise.value, whole.value, 1e-12 * whole.value);
      for (std::size_t i = 0; i < whole.gradients.size(); ++i) {
        const double scale = whole.gradients[i].abs().max().item<double>();
        const double apart =
            (blockwise.gradients[i] - whole.gradients[i]).abs().max().item<double>();
        EXPECT_LE(apart, 1e-12 * scale) << network.parameters()[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace gangway::gan
