// SPDX-License-Identifier: MIT
#include "job/keys/training_keys.hpp"

#include <string>

#include <fmt/format.h>

#include "job/keys/family_texts.hpp"
#include "job/keys/key_types.hpp"
#include "job/keys/key_uses.hpp"

namespace gangway {
namespace {

void add_losses(std::vector<Key>& keys) {
  keys.push_back(for_adversaries(choice_key(
      {"training.loss", "", "Loss of both networks"},
      [](auto& job) -> auto& { return job.training.loss; })));
  keys.push_back(for_fakes(later(choice_key(
      {"training.reuse_fakes", "",
       "Whether the generator learns from the examples that the discriminator has learnt from, "
       "not from new ones: one pass less a step"},
      [](auto& job) -> auto& { return job.training.reuse_fakes; }))));
  keys.push_back(for_penalties(with_default(
      real_key(
          {"training.gradient_penalty", "",
           "Weight of the WGAN-GP penalty (Gulrajani et al., 2017); 0: none"},
          [](auto& job) -> auto& { return job.training.penalty.gradient_penalty; }, kZeroOrMore),
      "10 with wasserstein, else 0")));
  keys.push_back(for_penalties(real_key(
      {"training.r1.gamma", "", "Weight of the R1 penalty (Mescheder et al., 2018); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r1_gamma; }, kZeroOrMore)));
  keys.push_back(for_penalties(whole_key(
      {"training.r1.interval", "steps", "Steps from one R1 penalty, and R2 penalty, to the next"},
      [](auto& job) -> auto& { return job.training.penalty.r1_interval; }, {1, 1'000'000})));
  keys.push_back(for_penalties(later(real_key(
      {"training.r1.final_factor", "", "Factor on both gammas when the burn-in is over"},
      [](auto& job) -> auto& { return job.training.penalty.final_factor; }, kZeroToOne))));
  keys.push_back(for_penalties(later(real_key(
      {"training.r2.gamma", "",
       "Weight of the R2 penalty: as R1, on generated images (R3GAN, Huang et al., 2024); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r2_gamma; }, kZeroOrMore))));
}

void add_growth(std::vector<Key>& keys) {
  const std::string names = families_that_take("training.growth.from");
  keys.push_back(for_families_that_take_it(later(whole_key(
      {"training.growth.from", "pixels",
       fmt::format("Side of the pictures that training begins with; they grow twofold up to "
                   "model.resolution ({})",
                   names)},
      [](auto& job) -> auto& { return job.training.growth.from; }, {4, 4096}))));
  keys.push_back(for_families_that_take_it(later(real_key(
      {"training.growth.kimg", kKimg,
       fmt::format("For which each resolution is trained, when it is all there ({})", names)},
      [](auto& job) -> auto& { return job.training.growth.kimg; }, kZeroOrMore))));
  keys.push_back(for_families_that_take_it(later(real_key(
      {"training.growth.fade_kimg", kKimg,
       fmt::format("Over which the next resolution then fades in ({})", names)},
      [](auto& job) -> auto& { return job.training.growth.fade_kimg; }, kZeroOrMore))));
}

void add_autoencoding(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      &Recipe::compares_values,
      with_default(choice_key(
                       {"training.reconstruction", "",
                        "Likelihood of an example: of shades as probabilities of white, or around "
                        "values as a "
                        "Gaussian or a Laplacian"},
                       [](auto& job) -> auto& { return job.training.autoencoder.reconstruction; }),
                   "squared for points, else bernoulli")));
  keys.push_back(for_autoencoders(real_key(
      {"training.kl_weight", "", "beta of the code's divergence (Higgins et al., 2017)"},
      [](auto& job) -> auto& { return job.training.autoencoder.kl_weight; }, kZeroOrMore)));
  keys.push_back(for_recipes(
      &Recipe::compares_features,
      later(real_key(
          {"training.adversarial_weight", "",
           "Of the discriminator's loss beside the reconstruction's in what the generator learns "
           "from: 1 / gamma (vae-gan, Larsen et al., 2016)"},
          [](auto& job) -> auto& { return job.training.autoencoder.adversarial_weight; },
          kZeroOrMore))));
}

void add_information(std::vector<Key>& keys) {
  keys.push_back(for_codes(later(real_key(
      {"training.information_weight", "",
       "lambda of the information about the latent codes (InfoGAN, Chen et al., 2016)"},
      [](auto& job) -> auto& { return job.training.information.weight; }, kZeroOrMore))));
  keys.push_back(for_codes(later(real_key(
      {"training.codes_weight", "",
       "Weight of the continuous codes' share of it, beside the categorical one's"},
      [](auto& job) -> auto& { return job.training.information.codes; }, kZeroOrMore))));
}

}  // namespace

void add_training_keys(std::vector<Key>& keys) {
  keys.push_back(later(choice_key(
      {"training.recipe", "", "What a step does: " + recipe_docs()},
      [](auto& job) -> auto& { return job.training.recipe; })));
  // Not a weight at a given step: job_fingerprint counts it where a schedule ends at it.
  keys.push_back(for_speed(real_key(
      {"training.kimg", kKimg, "Length: real images shown"},
      [](auto& job) -> auto& { return job.training.kimg; }, kAboveZero)));
  keys.push_back(whole_key({"training.batch", "images", "Images a phase, over all workers"},
                           [](auto& job) -> auto& { return job.training.batch; }, {1, 1'048'576}));
  keys.push_back(
      whole_key({"training.microbatches", "",
                 "Pieces that the batch is cut into: the unit of arithmetic, and the most workers"},
                [](auto& job) -> auto& { return job.training.microbatches; }, {1, 65'536}));
  keys.push_back(whole_key({"training.seed", "", "Seed of every random number"},
                           [](auto& job) -> auto& { return job.training.seed; }, {}));
  keys.push_back(later(real_key(
      {"training.burn_in_kimg", kKimg,
       "Over which what has a final value goes to it, on half a cosine; 0: all of training.kimg"},
      [](auto& job) -> auto& { return job.training.burn_in_kimg; }, kZeroOrMore)));
  add_growth(keys);
  add_losses(keys);
  add_autoencoding(keys);
  add_information(keys);
}

}  // namespace gangway
