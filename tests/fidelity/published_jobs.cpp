// SPDX-License-Identifier: MIT
#include "tests/fidelity/published_jobs.hpp"

#include "job/families/families.hpp"
#include "tests/named_rows.hpp"

namespace gangway::fidelity {
namespace {

void as_r3gan(JobSpec& job) {
  job.model = {.family = family_named("r3gan"),
               .width = 8,
               .blocks = 1,
               .latent = 8,
               .channels = 3,
               .classes = 10,
               .half_precision_sizes = 3};
  job.training.batch = 8;
  job.training.loss = LossKind::kRelativistic;
  job.training.generator_reals = GeneratorReals::kNew;
  job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 2.0, .final_factor = 0.1};
  job.training.burn_in_kimg = 0.02;
  using enum AugmentKind;
  job.training.augment = {.policy = AugmentPolicy::kAda,
                          .chosen = {kBlit, kGeometry, kColor, kCutout},
                          .strength = 0.0,
                          .schedule = {.decay = DecayKind::kCosine, .final_value = 0.8},
                          .penalised = PenalisedPictures::kOriginal};
  job.training.augment.multipliers[static_cast<std::size_t>(kColor)] = 0.5;
  NetworkSpec& generator = job.network("generator");
  generator.ema_kimg = 0.0;
  generator.ema_schedule = {.decay = DecayKind::kCosine, .final_value = 0.1};
  generator.ema_rampup.kind = RampUp::Kind::kNone;
  for (NetworkSpec& network : job.networks) {
    network.optimizer.betas = {0.0, 0.9};
    network.precision = Precision::kBf16;
  }
}

void as_biggan_of_cifar(JobSpec& job) {
  job.model = {.family = family_named("biggan"),
               .width = 4,
               .attention = 16,
               .attends_everywhere = true,
               .latent = 9,
               .classes = 10,
               .conditioning = Conditioning::kSeparate};
  job.training.batch = 8;
  job.training.loss = LossKind::kHinge;
  job.network("generator").ema_start_kimg = 0.016;
  job.network("generator").lazy_interval = 4;
}

void as_stylegan2_ada(JobSpec& job) {
  job.model = {.family = family_named("stylegan2"),
               .width = 2,
               .latent = 8,
               .classes = 10,
               .mapping_layers = 2,
               .discriminator_mapping_layers = 1,
               .deviation_group = 2,
               .is_residual = false};
  job.training.batch = 8;
  job.training.fake_labels = FakeLabels::kData;
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
  job.training.path_length = {.weight = 2.0, .interval = 2};
  job.training.augment = {.policy = AugmentPolicy::kAda,
                          .target = -2.0,  // p rises for any real pictures
                          .kimg = 0.04,
                          .interval = 2,
                          .penalised = PenalisedPictures::kOriginal};
  job.network("generator").ema_rampup = {.kind = RampUp::Kind::kShare, .share = 0.5};
}

}  // namespace

std::vector<NamedJob> jobs_as_published(const std::filesystem::path& folder) {
  std::vector<NamedJob> jobs;
  const auto add = [&](const char* name, void (*change)(JobSpec&), int steps) {
    jobs.push_back({.name = name, .job = small_dcgan(folder), .steps = steps});
    change(jobs.back().job);
  };
  add("R3ganAsPublished", as_r3gan, 2);
  add("BigganAsPublished", as_biggan_of_cifar, 2);
  add("Stylegan2AdaAsPublished", as_stylegan2_ada, 3);
  return jobs;
}

}  // namespace gangway::fidelity
