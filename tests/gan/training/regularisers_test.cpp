// SPDX-License-Identifier: MIT
// Smoothed and noisy labels, LeCam's means, and the weights that count as maps.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/losses/losses.hpp"
#include "gan/losses/orthogonal.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

at::Tensor loss_of(const char* name, const at::Tensor& first, const at::Tensor& second) {
  const std::array<at::Tensor, 2> inputs{first, second};
  return loss_named(name)(inputs);
}

TEST(Targets, AreFlippedAsOftenAsAsked) {
  const at::Tensor targets = keyed_targets({.seed = 5}, 20'000, 0.9, 0.25, at::kCPU);
  EXPECT_EQ(targets.sizes().vec(), (std::vector<std::int64_t>{20'000}));
  const at::Tensor flipped = targets.eq(0.0);
  EXPECT_TRUE(at::logical_or(flipped, targets.eq(0.9F)).all().item<bool>());
  // Bound: four deviations of a binomial share.
  EXPECT_NEAR(flipped.to(at::kDouble).mean().item<double>(), 0.25,
              4.0 * std::sqrt(0.25 * 0.75 / 20'000.0));
}

TEST(Targets, AreAllTheSameWithoutNoise) {
  EXPECT_TRUE(keyed_targets({.seed = 5}, 100, 0.8, 0.0, at::kCPU).eq(0.8F).all().item<bool>());
}

TEST(TargetLosses, AreTheCrossEntropyAndTheSquaredDistance) {
  const at::Tensor logits = keyed_normal({.seed = 1}, {6, 1}, at::kCPU) * 3.0;
  const at::Tensor targets = at::tensor({0.9F, 0.0F, 0.9F, 0.9F, 0.0F, 0.9F});
  const at::Tensor beside = targets.reshape({6, 1});
  EXPECT_NEAR(loss_of("nonsaturating-targets", logits, targets).item<double>(),
              at::binary_cross_entropy_with_logits(logits, beside).item<double>(), 1e-6);
  EXPECT_NEAR(loss_of("least-squares-targets", logits, targets).item<double>(),
              at::mse_loss(logits, beside).item<double>(), 1e-5);
}

TEST(TargetLosses, OfOneAreTheUsualOnes) {
  const at::Tensor logits = keyed_normal({.seed = 2}, {5, 1}, at::kCPU);
  for (const std::string loss : {"nonsaturating", "least-squares"}) {
    const std::array<at::Tensor, 1> usual{logits};
    EXPECT_EQ(loss_of((loss + "-targets").c_str(), logits, at::ones({5})).item<float>(),
              loss_named(loss + "-real")(usual).item<float>())
        << loss;
  }
}

TEST(TargetLosses, TakeOneTargetForAllPatchesOfAnImage) {
  const at::Tensor patches = keyed_normal({.seed = 3}, {2, 1, 3, 3}, at::kCPU);
  const at::Tensor targets = at::tensor({0.9F, 0.0F});
  const double expected = 0.5 * (at::mse_loss(patches[0], at::full_like(patches[0], 0.9)) +
                                 at::mse_loss(patches[1], at::zeros_like(patches[1])))
                                    .item<double>();
  EXPECT_NEAR(loss_of("least-squares-targets", patches, targets).item<double>(), expected, 1e-6);
}

TEST(Lecam, IsTheMeanSquaredDistanceFromTheOthersMean) {
  const at::Tensor logits = at::tensor({1.0F, -1.0F}).reshape({2, 1});
  EXPECT_FLOAT_EQ(loss_of("lecam", logits, at::tensor({0.5F})).item<float>(),
                  (0.25F + 2.25F) / 2.0F);
}

TEST(Lecam, AddsItsMeansToTheDiscriminatorOfAJobThatHasItAndOnlyThere) {
  JobSpec job;
  EXPECT_THROW((void)build_networks(job)[kDiscriminator].kept_mean(kLecamReal), InvariantError);
  const std::size_t before = build_networks(job)[kDiscriminator].statistics().size();
  job.training.lecam = {.weight = 0.1, .decay = 0.9};
  PerNetwork<Network> networks = build_networks(job);
  Network& discriminator = networks[kDiscriminator];
  EXPECT_EQ(discriminator.statistics().size(), before + 2);
  EXPECT_NEAR(discriminator.kept_mean(kLecamFake).momentum, 0.1, 1e-12);
  EXPECT_EQ(discriminator.kept_mean(kLecamReal).running.sizes().vec(),
            (std::vector<std::int64_t>{1}));
  EXPECT_THROW((void)networks[kGenerator].kept_mean(kLecamReal), InvariantError);
}

TEST(Maps, AreTheMatricesAndKernelsOfEveryFamily) {
  for (const char* name : {"dcgan", "infogan", "r3gan", "gat", "biggan", "stylegan2", "dense"}) {
    JobSpec job;
    job.model = {.family = family_named(name), .width = 16, .blocks = 1, .latent = 16};
    job.model.classes = 10;
    job.model.resolution = job.model.family->resolutions.front();
    PerNetwork<Network> networks = build_networks(job);
    Network& generator = networks[kGenerator];
    generator.initialise(1);
    add_orthogonal_gradient(generator, 1.0);
    int maps = 0;
    for (const Network::NamedParameter& named : generator.parameters()) {
      const Parameter& parameter = *named.parameter;
      EXPECT_EQ(parameter.tensor.grad().defined(), is_map(parameter)) << named.name;
      maps += is_map(parameter) ? 1 : 0;
      for (const char* other : {"bias", "embedding", "basis", "constant", "positions"}) {
        EXPECT_FALSE(is_map(parameter) && named.name.ends_with(other)) << named.name;
      }
    }
    EXPECT_GE(maps, 2) << name;
  }
}

}  // namespace
}  // namespace gangway::gan
