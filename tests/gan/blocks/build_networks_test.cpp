// SPDX-License-Identifier: MIT
#include "gan/blocks/build_networks.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"
#include "job/families/families.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/named_rows.hpp"

namespace gangway::gan {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t num_elements(Network& network) {
  std::int64_t count = 0;
  for (const Network::NamedParameter& named : network.parameters()) {
    count += named.parameter->tensor.numel();
  }
  return count;
}

struct Outputs {
  at::Tensor images;
  at::Tensor logits;
};

Outputs run(PerNetwork<Network>& networks, const JobSpec& job, std::int64_t count) {
  const at::NoGradGuard no_grad;
  const at::Tensor noise = keyed_normal({.seed = 2}, {count, job.model.latent}, at::kCPU);
  const at::Tensor labels =
      keyed_labels({.seed = 3}, count, std::max(1, job.model.classes), at::kCPU);
  const at::Tensor images =
      networks[kGenerator].forward({{"noise", noise}, {"labels", labels}}, {});
  return {images, networks[kDiscriminator].forward({{"image", images}, {"labels", labels}}, {})};
}

Outputs run(const JobSpec& job, std::int64_t count) {
  PerNetwork<Network> networks = build_networks(job);
  networks[kGenerator].initialise(1);
  networks[kDiscriminator].initialise(1);
  return run(networks, job, count);
}

void expect_image_shapes(const JobSpec& job) {
  const Outputs outputs = run(job, 3);
  EXPECT_EQ(outputs.images.sizes().vec(),
            (Shape{3, job.model.channels, job.model.resolution, job.model.resolution}));
  EXPECT_EQ(outputs.logits.sizes().vec(), (Shape{3, 1}));
  EXPECT_LE(outputs.images.abs().max().item<double>(), 1.0);
  EXPECT_TRUE(outputs.logits.isfinite().all().item<bool>());
}

bool has_batch_norm(const JobSpec& job) {
  return !build_networks(job)[kDiscriminator].statistics().empty();
}

TEST(Dcgan, Has1728128ParametersAt32PixelsAndWidth64) {
  const JobSpec job;
  PerNetwork<Network> networks = build_networks(job);
  EXPECT_EQ(num_elements(networks[kGenerator]), 1'066'880);
  EXPECT_EQ(num_elements(networks[kDiscriminator]), 661'248);
}

TEST(PlainLayers, TakeAnyWidthAndMakePicturesWithinBounds) {
  for (const int width : {1, 12, 31}) {
    JobSpec job;
    job.model.width = width;
    expect_image_shapes(job);
  }
  JobSpec job;
  job.model = {.family = family_named("infogan"), .resolution = 28, .width = 4, .classes = 10};
  expect_image_shapes(job);
}

TEST(Infogan, HasThirteenMillionParameters) {
  JobSpec job;
  job.model.family = family_named("infogan");
  job.model.resolution = 28;
  PerNetwork<Network> networks = build_networks(job);
  EXPECT_EQ(num_elements(networks[kGenerator]), 6'671'745);
  EXPECT_EQ(num_elements(networks[kDiscriminator]), 6'558'017);
}

TEST(Normalization, IsLeftOutOfTheDiscriminatorWhenThereIsAPenalty) {
  JobSpec plain;
  JobSpec with_r1;
  with_r1.training.penalty.r1_gamma = 10.0;
  JobSpec with_gradient_penalty;
  with_gradient_penalty.training.penalty.gradient_penalty = 10.0;
  EXPECT_TRUE(has_batch_norm(plain));
  EXPECT_FALSE(has_batch_norm(with_r1));
  EXPECT_FALSE(has_batch_norm(with_gradient_penalty));
  with_r1.model.normalization = Normalization::kBatch;
  EXPECT_TRUE(has_batch_norm(with_r1));
  plain.model.normalization = Normalization::kNone;
  EXPECT_FALSE(has_batch_norm(plain));
}

/// Every family at every resolution: thin and wide, grey and coloured, with and without labels,
/// with and without BatchNorm in the discriminator.
std::vector<JobSpec> every_kind_of_model() {
  std::vector<JobSpec> jobs;
  for (const ModelFamily& family : families()) {
    if (!missing_role(family, *default_recipe()).empty()) {
      continue;  // tests of other recipes cover it
    }
    const std::vector<int> none{ModelSpec{}.resolution};
    for (const int resolution : family.makes_points ? none : family.resolutions) {
      for (const int width : {1, 12}) {
        for (const int channels : {1, 3}) {
          for (const int classes : {0, 10}) {
            for (const Normalization normalization :
                 {Normalization::kBatch, Normalization::kNone}) {
              if ((!family.takes("model.normalization") &&
                   normalization == Normalization::kBatch) ||
                  (!family.takes_labels && classes > 0) || (family.makes_points && channels > 1)) {
                continue;
              }
              JobSpec job;
              job.model = {.family = &family,
                           .resolution = resolution,
                           .width = width,
                           .blocks = 1,
                           .latent = 7,
                           .channels = channels,
                           .classes = classes,
                           .normalization = normalization};
              jobs.push_back(job);
            }
          }
        }
      }
    }
  }
  return jobs;
}

std::string name_of_job(const JobSpec& job) {
  const ModelSpec& model = job.model;
  return std::string(model.family->name) + ", resolution " + std::to_string(model.resolution) +
         ", width " + std::to_string(model.width) + ", channels " + std::to_string(model.channels) +
         ", classes " + std::to_string(model.classes) +
         (model.normalizes_discriminator() ? ", normalized" : "");
}

/// Returns whether there are BatchNorm statistics. Those of spectral norms depend only on weights.
bool averages_batches(Network& network) {
  return std::ranges::any_of(network.statistics(), [](const Network::NamedStatistic& named) {
    return named.name.ends_with("running_mean");
  });
}

TEST(EveryFamily, IsAsLargeAsItsArchitectureSaysAndJudgesWhatItMakes) {
  EXPECT_EQ(example_shape({.family = family_named("mlp")}), (Shape{2}));
  for (const JobSpec& job : every_kind_of_model()) {
    SCOPED_TRACE(name_of_job(job));
    PerNetwork<Network> networks = build_networks(job);
    const PerNetwork<Architecture> described = job.architectures();
    EXPECT_EQ(networks[kGenerator].name(), "generator");
    EXPECT_EQ(networks[kDiscriminator].name(), "discriminator");
    EXPECT_EQ(num_elements(networks[kGenerator]), num_parameters(described[kGenerator]));
    EXPECT_EQ(num_elements(networks[kDiscriminator]), num_parameters(described[kDiscriminator]));
    EXPECT_EQ(averages_batches(networks[kDiscriminator]), job.model.normalizes_discriminator());
    // Every second job; any two values still meet.
    const ModelSpec& model = job.model;
    const bool is_plain = model.normalization == Normalization::kNone;
    if ((static_cast<int>(model.width > 1) + static_cast<int>(model.channels > 1) +
         static_cast<int>(model.classes > 0) + static_cast<int>(is_plain)) %
            2 !=
        0) {
      continue;
    }
    const Outputs outputs = run(networks, job, 2);  // tests only shapes: weights are zero
    Shape shape = example_shape(job.model);
    shape.insert(shape.begin(), 2);
    EXPECT_EQ(outputs.images.sizes().vec(), shape);
    EXPECT_EQ(outputs.logits.sizes().vec(), (Shape{2, 1}));
  }
}

TEST(EveryFamily, ShowsAnotherPictureForAnotherLabelAndJudgesByIt) {
  const at::NoGradGuard no_grad;
  for (const ModelFamily& family : families()) {
    if (!missing_role(family, *default_recipe()).empty() || !family.takes_labels) {
      continue;
    }
    SCOPED_TRACE(family.name);
    JobSpec job;
    job.model = {.family = &family,
                 .resolution = family.resolutions.front(),
                 .width = 12,
                 .blocks = 1,
                 .latent = 9,
                 .classes = 10};
    PerNetwork<Network> networks = build_networks(job);
    networks[kGenerator].initialise(1);
    networks[kDiscriminator].initialise(1);
    const ForwardContext context{.mode = Mode::kEvaluation};
    const at::Tensor noise = keyed_normal({.seed = 2}, {1, 9}, at::kCPU).repeat({2, 1});
    const at::Tensor labels = at::tensor({1, 7}, at::kLong);
    const at::Tensor images =
        networks[kGenerator].forward({{"noise", noise}, {"labels", labels}}, context);
    EXPECT_FALSE(images[0].equal(images[1]));
    const at::Tensor same = images.slice(0, 0, 1).repeat({2, 1, 1, 1});
    const at::Tensor logits =
        networks[kDiscriminator].forward({{"image", same}, {"labels", labels}}, context);
    EXPECT_NE(logits[0].item<float>(), logits[1].item<float>());
  }
}

TEST(TensorNames, AreTheOnesThatCheckpointsUse) {
  PerNetwork<Network> networks = build_networks({});
  EXPECT_EQ(networks[kGenerator].parameters().front().name, "generator/0/weight");
  EXPECT_EQ(networks[kGenerator].statistics().front().name, "generator/0/norm.running_mean");
  EXPECT_EQ(networks[kDiscriminator].parameters().back().name, "discriminator/3/weight");
}

}  // namespace
}  // namespace gangway::gan
