// SPDX-License-Identifier: MIT
#include "pipeline/phases.hpp"

namespace gangway::pipeline {
namespace {

bool has_lazy_regulariser(const JobSpec& job) {
  return job.training.penalty.r1_gamma > 0.0 && job.training.penalty.r1_interval > 1;
}

std::vector<PassKind> discriminator_passes(const JobSpec& job) {
  std::vector<PassKind> passes;
  if (job.training.loss == LossKind::kRelativistic) {
    passes = {PassKind::kRealFakePair};
  } else {
    passes = {PassKind::kReal, PassKind::kFake};
  }
  if (job.training.penalty.gradient_penalty > 0.0) {
    passes.push_back(PassKind::kGradientPenalty);
  }
  if (job.training.penalty.r1_gamma > 0.0 && !has_lazy_regulariser(job)) {
    passes.push_back(PassKind::kR1);
  }
  return passes;
}

}  // namespace

std::vector<Phase> phases_of(const JobSpec& job) {
  std::vector<Phase> phases;
  phases.push_back({.name = "discriminator",
                    .network = NetworkId::kDiscriminator,
                    .repeats = job.discriminator.steps,
                    .passes = discriminator_passes(job),
                    .clip_norm = job.discriminator.clip_norm});
  if (has_lazy_regulariser(job)) {
    phases.push_back({.name = "discriminator_regulariser",
                      .network = NetworkId::kDiscriminator,
                      .interval = job.training.penalty.r1_interval,
                      .passes = {PassKind::kR1},
                      .clip_norm = job.discriminator.clip_norm});
  }
  phases.push_back(
      {.name = "generator",
       .network = NetworkId::kGenerator,
       .passes = {job.training.loss == LossKind::kRelativistic ? PassKind::kGeneratePair
                                                               : PassKind::kGenerate},
       .clip_norm = job.generator.clip_norm});
  for (std::size_t i = 0; i < phases.size(); ++i) {
    phases[i].index = static_cast<int>(i);
  }
  return phases;
}

double laziness_of(const JobSpec& job) {
  if (!has_lazy_regulariser(job)) {
    return 1.0;
  }
  const double updates =
      static_cast<double>(job.training.penalty.r1_interval) * job.discriminator.steps;
  return updates / (updates + 1.0);
}

}  // namespace gangway::pipeline
