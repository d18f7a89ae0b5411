// SPDX-License-Identifier: MIT
// Compares gradients of recipes whose discriminator is a trunk with heads with plain autograd
// through their losses, written independently.
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/named_rows.hpp"
#include "tests/worker/one_microbatch.hpp"

namespace gangway::worker {
namespace {

at::Tensor verdict(OneMicrobatch& networks, const at::Tensor& examples, bool is_real) {
  const at::Tensor logits = networks.apply("discriminator", networks.apply("trunk", examples));
  return at::binary_cross_entropy_with_logits(
      logits, is_real ? at::ones_like(logits) : at::zeros_like(logits));
}

/// Returns the adversarial loss on fakes, and the information about their codes.
at::Tensor informed(OneMicrobatch& networks, int phase, int pass, bool are_called_real) {
  const ModelSpec& model = networks.job().model;
  const at::Tensor codes = gan::keyed_uniform(networks.key(RandomDraw::kCode, phase, pass),
                                              {networks.count(), model.codes}, at::kCPU) *
                               2.0 -
                           1.0;
  const at::Tensor labels = gan::keyed_labels(networks.key(RandomDraw::kCategory, phase, pass),
                                              networks.count(), model.categories, at::kCPU);
  const at::Tensor fake =
      networks.apply("generator", at::cat({networks.noise(phase, pass), codes,
                                           at::one_hot(labels, model.categories).to(at::kFloat)},
                                          1));
  const std::vector<at::Tensor> posterior =
      networks.apply("posterior", networks.apply("trunk", fake))
          .split_with_sizes({model.categories, model.codes, model.codes}, 1);
  const at::Tensor variance = posterior[2].exp() + 1e-4;
  const at::Tensor of_codes =
      0.5 * ((codes - posterior[1]).square() / variance + at::log(variance)).sum(1).mean();
  const InformationSpec& weights = networks.job().training.information;
  return verdict(networks, fake, are_called_real) +
         weights.weight * (at::cross_entropy_loss(posterior[0], labels) + weights.codes * of_codes);
}

TEST(InformationGradients, AreThoseOfPlainAutograd) {
  OneMicrobatch networks(fidelity::small_job_of(*recipe_named("infogan"), family_named("mlp")));
  expect_close(networks.of_recipe(0),
               networks.of_loss(
                   0, verdict(networks, networks.real(), true) + informed(networks, 0, 1, false)),
               1e-5);
  expect_close(networks.of_recipe(1), networks.of_loss(1, informed(networks, 1, 0, true)), 1e-5);
}

struct Coded {
  at::Tensor latent;
  at::Tensor divergence;
};

Coded coded(OneMicrobatch& networks, int phase, int pass) {
  const std::vector<at::Tensor> code = networks.apply("encoder", networks.real()).chunk(2, 1);
  return {code[0] + (0.5 * code[1]).exp() * networks.noise(phase, pass),
          0.5 * (code[0].square() + code[1].exp() - 1.0 - code[1]).sum(1).mean()};
}

TEST(FeatureAutoencoderGradients, AreThoseOfPlainAutograd) {
  OneMicrobatch networks(fidelity::small_job_of(*recipe_named("vae-gan"), family_named("mlp")));
  const auto made_of = [&](const at::Tensor& latent) {
    return networks.apply("generator", latent);
  };
  expect_close(
      networks.of_recipe(0),
      networks.of_loss(0, verdict(networks, networks.real(), true) +
                              verdict(networks, made_of(coded(networks, 0, 1).latent), false) +
                              verdict(networks, made_of(networks.noise(0, 2)), false)),
      1e-5);
  const AutoencoderSpec& spec = networks.job().training.autoencoder;
  const Coded code = coded(networks, 1, 1);
  const at::Tensor likeness = 0.5 * (networks.apply("trunk", made_of(code.latent)) -
                                     networks.apply("trunk", networks.real()))
                                        .square()
                                        .sum(1)
                                        .mean();
  expect_close(
      networks.of_recipe(1),
      networks.of_loss(1, likeness + spec.kl_weight * code.divergence +
                              spec.adversarial_weight *
                                  (verdict(networks, made_of(networks.noise(1, 0)), true) +
                                   verdict(networks, made_of(code.latent.detach()), true))),
      1e-5);
}

TEST(DistillationGradients, AreThoseOfPlainAutograd) {
  JobSpec job = fidelity::small_job_of(*recipe_named("distill"), family_named("mlp"));
  job.training.distill = {
      .teacher_width = 24, .adversarial_weight = 2.0, .picture_weight = 3.0, .feature_weight = 4.0};
  OneMicrobatch networks(job);
  const at::Tensor fake = networks.apply("generator", networks.noise(1, 0));
  const at::Tensor shown = networks.apply("teacher", networks.noise(1, 0)).detach();
  const at::Tensor features = networks.apply("trunk", shown).detach();
  const at::Tensor loss = 3.0 * at::l1_loss(fake, shown) +
                          4.0 * at::l1_loss(networks.apply("trunk", fake), features) +
                          2.0 * verdict(networks, fake, true);
  expect_close(networks.of_recipe(1), networks.of_loss(1, loss), 1e-5);
  expect_close(
      networks.of_recipe(0),
      networks.of_loss(
          0, verdict(networks, networks.real(), true) +
                 verdict(networks, networks.apply("generator", networks.noise(0, 1)), false)),
      1e-5);
}

}  // namespace
}  // namespace gangway::worker
