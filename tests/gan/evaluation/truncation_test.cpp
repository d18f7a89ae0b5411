// SPDX-License-Identifier: MIT
#include "gan/evaluation/truncation.hpp"

#include <array>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

constexpr std::array<std::uint64_t, 3> kSeeds{3, 5, 7};

JobSpec stylegan2_of(int classes) {
  JobSpec job;
  job.model = {.family = family_named("stylegan2"),
               .width = 4,
               .latent = 6,
               .channels = 3,
               .classes = classes,
               .mapping_layers = 2};
  return job;
}

/// Makes a generator with random weights, also where training begins with zero.
Network generator_of(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  std::int32_t position = 0;
  for (const Network::NamedParameter& named : networks[kGenerator].parameters()) {
    at::Tensor& tensor = named.parameter->tensor;
    const bool is_slow = named.name.find("/layer") != std::string::npos;
    tensor.set_data(keyed_normal({.seed = 5, .block = position++}, tensor.sizes(), at::kCPU)
                        .mul_(is_slow ? 100.0 : 1.0));
  }
  return std::move(networks[kGenerator]);
}

double spread(const at::Tensor& pictures) {
  return (pictures - pictures.slice(0, 0, 1)).abs().max().item<double>();
}

TEST(Truncation, OfOneIsNoneBitForBit) {
  for (const int classes : {0, 4}) {
    const JobSpec job = stylegan2_of(classes);
    Network generator = generator_of(job);
    const Truncation truncation(generator, job.model);
    const Latents latents = latents_of_seeds(job.model, kSeeds);
    EXPECT_TRUE(
        at::equal(truncation.generate(latents, 1.0), generate(generator, job.model, latents)));
  }
}

TEST(Truncation, OfZeroMakesAllPicturesEqual) {
  for (const int classes : {0, 4}) {
    const JobSpec job = stylegan2_of(classes);
    Network generator = generator_of(job);
    const Truncation truncation(generator, job.model);
    const Latents latents = latents_of_seeds(job.model, kSeeds);
    const at::Tensor mean = truncation.generate(latents, 0.0);
    EXPECT_TRUE(at::equal(mean[0], mean[1]));
    EXPECT_TRUE(at::equal(mean[0], mean[2]));
    EXPECT_GT(spread(generate(generator, job.model, latents)), 0.0);
  }
}

TEST(Truncation, GoesTowardsTheMeanOfStyles) {
  const JobSpec job = stylegan2_of(0);
  Network generator = generator_of(job);
  const Truncation truncation(generator, job.model);
  const Latents latents = latents_of_seeds(job.model, kSeeds);
  const auto distance = [&](double psi) {
    return (truncation.generate(latents, psi) - truncation.generate(latents, 0.0))
        .norm()
        .item<double>();
  };
  EXPECT_LT(distance(0.25), distance(0.5));
  EXPECT_LT(distance(0.5), distance(1.0));
  // Near truncation 1 the styles are almost unchanged.
  const at::Tensor whole = truncation.generate(latents, 1.0);
  EXPECT_LT((truncation.generate(latents, 0.9999) - whole).norm().item<double>(),
            1e-2 * distance(1.0));
}

TEST(Truncation, IsForNetworksThatHaveStyles) {
  EXPECT_TRUE(has_styles(stylegan2_of(0)));
  JobSpec job;
  EXPECT_FALSE(has_styles(job));
  job.model.family = family_named("r3gan");
  EXPECT_FALSE(has_styles(job));
}

}  // namespace
}  // namespace gangway::gan
