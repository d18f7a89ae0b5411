// SPDX-License-Identifier: MIT
// GAT's networks. tests/gan/networks_reference.py compares their values with PyTorch's modules.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/gan/whole_network_penalty.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using Shape = std::vector<std::int64_t>;

JobSpec gat_of(int resolution, int classes, int blocks = 3) {
  JobSpec job;
  job.model = {.family = family_named("gat"),
               .resolution = resolution,
               .width = 12,
               .blocks = blocks,
               .patch = 8,
               .latent = 6,
               .channels = 3,
               .classes = classes};
  return job;
}

PerNetwork<Network> initialised(const JobSpec& job) {
  PerNetwork<Network> networks = build_networks(job);
  networks[kGenerator].initialise(1);
  networks[kDiscriminator].initialise(1);
  return networks;
}

NamedTensors inputs(const JobSpec& job, std::int64_t count) {
  return {{"noise", keyed_normal({.seed = 2}, {count, job.model.latent}, at::kCPU)},
          {"labels", at::arange(count)}};
}

TEST(Gat, MakesPicturesOfSeveralDepthsInTrainingAndTheLastOneBehindIt) {
  const at::NoGradGuard no_grad;
  for (const int resolution : family_named("gat")->resolutions) {
    for (const int classes : {0, 10}) {
      const JobSpec job = gat_of(resolution, classes);
      PerNetwork<Network> networks = initialised(job);
      const NamedTensors in = inputs(job, 2);
      const at::Tensor all = networks[kGenerator].forward(in, {.mode = Mode::kTraining});
      const at::Tensor last = networks[kGenerator].forward(in, {.mode = Mode::kEvaluation});
      EXPECT_EQ(all.sizes().vec(), (Shape{2, 9, resolution, resolution}));
      EXPECT_EQ(last.sizes().vec(), (Shape{2, 3, resolution, resolution}));
      EXPECT_TRUE(all.slice(1, 6).equal(last));
      EXPECT_FALSE(all.slice(1, 0, 3).equal(last));
      for (const at::Tensor& pictures : {all, last}) {
        const at::Tensor logits = networks[kDiscriminator].forward(in.with("image", pictures), {});
        EXPECT_EQ(logits.sizes().vec(), (Shape{2, 1}));
        EXPECT_TRUE(logits.isfinite().all().item<bool>());
      }
    }
  }
}

TEST(Gat, JudgesOnePictureAsIfEachDepthWereIt) {
  const at::NoGradGuard no_grad;
  const JobSpec job = gat_of(32, 0);
  Network network = std::move(initialised(job)[kDiscriminator]);
  const at::Tensor picture = keyed_normal({.seed = 4}, {2, 3, 32, 32}, at::kCPU);
  const at::Tensor logits = network.forward({{"image", picture}}, {});
  EXPECT_TRUE(network.forward({{"image", picture.repeat({1, 3, 1, 1})}}, {}).equal(logits));
}

TEST(Gat, JudgesUnderKeyedNoiseInTrainingAlone) {
  const at::NoGradGuard no_grad;
  Network network = std::move(initialised(gat_of(32, 0))[kDiscriminator]);
  const NamedTensors in{{"image", keyed_normal({.seed = 4}, {2, 3, 32, 32}, at::kCPU)}};
  const auto judged = [&](Mode mode, std::int32_t pass) {
    return network.forward(in, {.mode = mode, .key = {.seed = 9, .pass = pass}});
  };
  EXPECT_TRUE(judged(Mode::kTraining, 1).equal(judged(Mode::kTraining, 1)));
  EXPECT_FALSE(judged(Mode::kTraining, 1).equal(judged(Mode::kTraining, 2)));
  EXPECT_TRUE(judged(Mode::kEvaluation, 1).equal(judged(Mode::kEvaluation, 2)));
}

TEST(Gat, BeginsWithPlacesAndSmallGains) {
  const JobSpec job = gat_of(32, 0);
  PerNetwork<Network> networks = initialised(job);
  const at::Tensor positions =
      networks[kGenerator].block(1).parameters().front().tensor.detach();  // [4 * 4, 12]
  const auto at_place = [&](std::int64_t place, std::int64_t feature) {
    return positions[place][feature].item<double>();
  };
  // Place 10 is the third column of the third row; the second of three wavelengths.
  const double slow = 2.0 * std::pow(1e4, -1.0 / 3.0);
  EXPECT_NEAR(at_place(10, 0), std::sin(2.0), 1e-6);
  EXPECT_NEAR(at_place(10, 1), std::sin(slow), 1e-6);
  EXPECT_NEAR(at_place(11, 4), std::cos(1.5 * slow), 1e-6);
  EXPECT_NEAR(at_place(11, 7), std::sin(slow), 1e-6);
  EXPECT_NEAR(at_place(11, 9), std::cos(2.0), 1e-6);
  const auto& parameters = networks[kDiscriminator].block(1).parameters();
  EXPECT_EQ(parameters[0].name, "attention.before");
  EXPECT_TRUE(parameters[0].tensor.eq(1.0F).all().item<bool>());
  EXPECT_EQ(parameters[1].name, "attention.behind");
  EXPECT_TRUE(parameters[1].tensor.eq(0.1F).all().item<bool>());
}

TEST(Gat, HasThePenaltiesOfTheWholeNetworkBlockByBlock) {
  for (const int classes : {0, 10}) {
    Network network = std::move(initialised(gat_of(32, classes, 2))[kDiscriminator]);
    make_double(network);
    for (const std::int64_t channels : {3, 6}) {  // of a real and of a generated picture
      expect_penalty_of_whole_network(
          network, PenaltyKind::kR1,
          {{"image", keyed_normal({.seed = 6}, {2, channels, 32, 32}, at::kCPU).to(at::kDouble)},
           {"labels", at::tensor({1, 7}, at::kLong)}},
          {.key = {.seed = 9}});
    }
  }
}

}  // namespace
}  // namespace gangway::gan
