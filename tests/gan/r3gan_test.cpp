// SPDX-License-Identifier: MIT
// R3GAN's whole networks. networks_reference.py compares their values with the authors' formulas.
#include <cmath>
#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

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

/// Sets all weights to nonzero values; residual blocks begin with zeros.
void randomise(Network& network) {
  std::int32_t position = 0;
  for (const Network::NamedParameter& named : network.parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const double scale =
        tensor.dim() > 1 ? 1.0 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.3;
    tensor.set_data(
        keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU).mul(scale));
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
  // Residual blocks begin as the identity, so the network is linear, and 64 is a power of two.
  EXPECT_TRUE(louder.equal(images * 64.0));
}

TEST(R3gan, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const at::MemoryFormat format :
       {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const int classes : {0, 10}) {
      Network network = std::move(build_networks(r3gan_of(64, classes))[kDiscriminator]);
      randomise(network);
      make_double(network, format);
      expect_penalty_of_whole_network(
          network, PenaltyKind::kR1,
          {{"image", keyed_normal({.seed = 6}, {2, 3, 64, 64}, at::kCPU).to(at::kDouble)},
           {"labels", at::tensor({1, 7}, at::kLong)}});
    }
  }
}

}  // namespace
}  // namespace gangway::gan
