// SPDX-License-Identifier: MIT
// Gradients of the recipes whose discriminator is a trunk and heads, against plain autograd through
// their losses written down once more.
#include <map>

#include <gtest/gtest.h>

#include "gan/blocks/build_networks.hpp"
#include "gan/data/open_dataset.hpp"
#include "gan/random_tensors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/families/families.hpp"
#include "pipeline/stages/stage_schedule.hpp"
#include "tests/fidelity/small_jobs.hpp"
#include "tests/worker/gradients.hpp"
#include "worker/pass/pass_run.hpp"

namespace gangway::worker {
namespace {

using pipeline::Operation;

/// Micro-batch 0 of a job of points.
class Networks {
 public:
  explicit Networks(JobSpec job) : job_(std::move(job)), phases_(gan::phases_of(job_)) {
    for (gan::Network& network : networks_) {
      network.initialise(job_.training.seed);
      pointers_.add(&network);
      sinks_.add(&statistics_);
    }
    real_ = reals_.take(0, 0, 0).images;
  }

  /// What the recipe leaves in the networks that `phase` trains.
  Gradients of_recipe(int phase) {
    forget();
    PassRun run({.job = job_,
                 .phases = phases_,
                 .networks = pointers_,
                 .sinks = sinks_,
                 .reals = reals_,
                 .device = at::kCPU});
    run.begin_step(0);
    StepLosses losses({0, 1}, networks_.size());
    for (const pipeline::Instruction& at :
         pipeline::one_stage_schedule(phases_, {0, 1}, 0, Overlap::kNone)) {
      if (at.phase == phase && at.operation == Operation::kForward) {
        run.forward(at);
      } else if (at.phase == phase && at.operation == Operation::kBackward) {
        run.backward(at, losses);
      }
    }
    return gradients(phase);
  }
  /// The same of `loss`.
  Gradients of(int phase, const at::Tensor& loss) {
    forget();
    torch::autograd::backward({loss}, {});
    return gradients(phase);
  }

  [[nodiscard]] at::Tensor apply(const std::string& network, const at::Tensor& in) {
    gan::Network& applied = networks_[job_.id_of(network)];
    return applied.forward({{applied.block(0).ports().inputs.front(), in}}, {});
  }
  [[nodiscard]] RandomKey key(RandomDraw draw, int phase, int pass) const {
    return {.seed = job_.training.seed,
            .phase = phase,
            .pass = pass,
            .draw = static_cast<std::int32_t>(draw)};
  }
  [[nodiscard]] at::Tensor noise(int phase, int pass) const {
    return gan::keyed_normal(key(RandomDraw::kNoise, phase, pass), {count(), job_.model.latent},
                             at::kCPU);
  }
  [[nodiscard]] int count() const { return job_.images_per_microbatch(); }
  [[nodiscard]] const at::Tensor& real() const { return real_; }
  [[nodiscard]] const JobSpec& job() const { return job_; }

 private:
  void forget() {
    for (gan::Network& network : networks_) {
      for (const auto& named : network.parameters()) {
        named.parameter->tensor.mutable_grad().reset();
      }
    }
  }
  [[nodiscard]] Gradients gradients(int phase) {
    Gradients found;
    for (const NetworkId network : phases_[static_cast<std::size_t>(phase)].networks) {
      for (const auto& named : networks_[network].parameters()) {
        found[named.name] = named.parameter->tensor.grad().clone();
      }
    }
    return found;
  }

  JobSpec job_;
  std::vector<pipeline::Phase> phases_;
  PerNetwork<gan::Network> networks_ = gan::build_networks(job_);
  PerNetwork<gan::Network*> pointers_;
  SeenStatistics statistics_;  // nobody looks at them
  PerNetwork<gan::StatisticSink*> sinks_;
  std::unique_ptr<data::Dataset> dataset_ =
      data::open_dataset(job_.data, job_.model, job_.training.seed);
  RealBatches reals_{job_, *dataset_, MicrobatchRange{0, 1}, 0};
  at::Tensor real_;
};

at::Tensor verdict(Networks& networks, const at::Tensor& examples, bool is_real) {
  const at::Tensor logits = networks.apply("discriminator", networks.apply("trunk", examples));
  return at::binary_cross_entropy_with_logits(
      logits, is_real ? at::ones_like(logits) : at::zeros_like(logits));
}

/// The adversaries' loss on fakes and the information about their codes.
at::Tensor informed(Networks& networks, int phase, int pass, bool are_called_real) {
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
  Networks networks(fidelity::small_job_of(*recipe_named("infogan"), family_named("mlp")));
  expect_close(
      networks.of_recipe(0),
      networks.of(0, verdict(networks, networks.real(), true) + informed(networks, 0, 1, false)),
      1e-5);
  expect_close(networks.of_recipe(1), networks.of(1, informed(networks, 1, 0, true)), 1e-5);
}

struct Coded {
  at::Tensor latent;
  at::Tensor divergence;
};

Coded coded(Networks& networks, int phase, int pass) {
  const std::vector<at::Tensor> code = networks.apply("encoder", networks.real()).chunk(2, 1);
  return {code[0] + (0.5 * code[1]).exp() * networks.noise(phase, pass),
          0.5 * (code[0].square() + code[1].exp() - 1.0 - code[1]).sum(1).mean()};
}

TEST(FeatureAutoencoderGradients, AreThoseOfPlainAutograd) {
  Networks networks(fidelity::small_job_of(*recipe_named("vae-gan"), family_named("mlp")));
  const auto made_of = [&](const at::Tensor& latent) {
    return networks.apply("generator", latent);
  };
  expect_close(networks.of_recipe(0),
               networks.of(0, verdict(networks, networks.real(), true) +
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
  expect_close(networks.of_recipe(1),
               networks.of(1, likeness + spec.kl_weight * code.divergence +
                                  spec.adversarial_weight *
                                      (verdict(networks, made_of(networks.noise(1, 0)), true) +
                                       verdict(networks, made_of(code.latent.detach()), true))),
               1e-5);
}

}  // namespace
}  // namespace gangway::worker
