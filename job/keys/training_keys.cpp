// SPDX-License-Identifier: MIT
#include "job/keys/training_keys.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "job/keys/augment_keys.hpp"
#include "job/keys/divergence_keys.hpp"
#include "job/keys/family_texts.hpp"
#include "job/keys/hashed_file_keys.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/library_keys.hpp"
#include "job/keys/network_keys.hpp"
#include "job/keys/schedule_keys.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

void add_losses(std::vector<Key>& keys) {
  keys.push_back(for_adversaries(choice_key(
      {"training.loss", "", "Loss of both networks"},
      [](auto& job) -> auto& { return job.training.loss; })));
  keys.push_back(for_fakes(later(choice_key(
      {"training.reuse_fakes", "",
       "Whether the generator's phase reuses the fakes of the discriminator's phase instead of new "
       "fakes; this saves a forward pass per step"},
      [](auto& job) -> auto& { return job.training.reuse_fakes; }))));
  keys.push_back(for_penalties(later(choice_key(
      {"training.fake_labels", "",
       "Labels of generated examples: uniform, all equally likely; data, as often as in the data. "
       "With loss relativistic, they have the labels of the real examples they are compared with"},
      [](auto& job) -> auto& { return job.training.fake_labels; }))));
  keys.push_back(for_penalties(later(choice_key(
      {"training.generator_reals", "",
       "Real examples of the generator's phase, with loss relativistic or your own training.step: "
       "the same as the discriminator's, or new examples"},
      [](auto& job) -> auto& { return job.training.generator_reals; }))));
  keys.push_back(for_penalties(with_default(
      real_key(
          {"training.gradient_penalty", "",
           "Weight of the WGAN-GP penalty (Gulrajani et al., 2017); 0: none"},
          [](auto& job) -> auto& { return job.training.penalty.gradient_penalty; }, kZeroOrMore),
      "10 with wasserstein, else 0")));
  keys.push_back(for_penalties(schedule_key(
      {"training.gradient_penalty_schedule", "",
       "Schedule of a factor on that weight, as {decay: linear, final_factor: 0.1}"},
      [](auto& job) -> auto& { return job.training.penalty.gradient_schedule; },
      ScheduleOf::kFactor, kZeroOrMore)));
  keys.push_back(for_penalties(real_key(
      {"training.r1.gamma", "", "Weight of the R1 penalty (Mescheder et al., 2018); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r1_gamma; }, kZeroOrMore)));
  keys.push_back(for_penalties(whole_key(
      {"training.r1.interval", "steps", "Steps from one R1 (and R2) penalty to the next"},
      [](auto& job) -> auto& { return job.training.penalty.r1_interval; }, {1, 1'000'000})));
  keys.push_back(for_penalties(later(real_key(
      {"training.r1.final_factor", "", "Factor on both gammas at the end of the burn-in"},
      [](auto& job) -> auto& { return job.training.penalty.final_factor; }, kZeroToOne))));
  keys.push_back(for_penalties(schedule_key(
      {"training.r1.schedule", "",
       "Schedule of a factor on both gammas, as {decay: linear, final_factor: 0.1}"},
      [](auto& job) -> auto& { return job.training.penalty.gamma_schedule; }, ScheduleOf::kFactor,
      kZeroOrMore)));
  keys.push_back(for_penalties(later(real_key(
      {"training.r2.gamma", "",
       "Weight of the R2 penalty: as R1, on generated images (R3GAN, Huang et al., 2024); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r2_gamma; }, kZeroOrMore))));
}

/// Restricts a key to families that take it, and recipes that take penalties.
Key for_penalised_families(Key key) {
  const auto by_family = for_families_that_take_it(key).why_refused;
  const auto by_recipe = for_penalties(key).why_refused;
  key.why_refused = [by_family, by_recipe](const JobSpec& job) {
    std::string why = by_family(job);
    return why.empty() ? by_recipe(job) : why;
  };
  return key;
}

constexpr RealBounds kBelowHalf{.high = 0.5, .is_high_allowed = false};

void add_regularisers(std::vector<Key>& keys) {
  keys.push_back(for_penalised_families(later(real_key(
      {"training.orthogonal_weight", "",
       "Weight beta of the orthogonal regularisation of the generator's weight matrices (BigGAN, "
       "Brock et al., 2019, uses 1e-4); 0: none"},
      [](auto& job) -> auto& { return job.training.orthogonal_weight; }, kZeroOrMore))));
  keys.push_back(for_penalties(later(real_key(
      {"training.label_smoothing", "",
       "How far the discriminator's target for real images is below 1 (Salimans et al., 2016)"},
      [](auto& job) -> auto& { return job.training.labels.smoothing; }, kBelowHalf))));
  keys.push_back(for_penalties(later(real_key(
      {"training.label_noise", "",
       "Probability that a real image gets the discriminator's target for generated images"},
      [](auto& job) -> auto& { return job.training.labels.noise; }, kBelowHalf))));
  keys.push_back(for_penalties(later(real_key(
      {"training.lecam.weight", "",
       "Weight of the LeCam regularisation of the discriminator (Tseng et al., 2021); 0: none"},
      [](auto& job) -> auto& { return job.training.lecam.weight; }, kZeroOrMore))));
  keys.push_back(for_penalties(later(real_key(
      {"training.lecam.decay", "", "Decay of LeCam's moving means of the discriminator's logits"},
      [](auto& job) -> auto& { return job.training.lecam.decay; }, kZeroToBelowOne))));
}

void add_path_length(std::vector<Key>& keys) {
  keys.push_back(for_penalised_families(later(real_key(
      {"training.path_length.weight", "",
       fmt::format("Weight of the generator's path length regularisation (Karras et al., 2020, "
                   "where it is 2); 0: none ({})",
                   families_that_take("training.path_length.weight"))},
      [](auto& job) -> auto& { return job.training.path_length.weight; }, kZeroOrMore))));
  keys.push_back(for_penalised_families(later(whole_key(
      {"training.path_length.interval", "steps", "Steps from one path length penalty to the next"},
      [](auto& job) -> auto& { return job.training.path_length.interval; }, {1, 1'000'000}))));
}

void add_growth(std::vector<Key>& keys) {
  const std::string names = families_that_take("training.growth.from");
  keys.push_back(for_families_that_take_it(later(whole_key(
      {"training.growth.from", "pixels",
       fmt::format(
           "Side of the pictures at the start of training; it doubles up to model.resolution ({})",
           names)},
      [](auto& job) -> auto& { return job.training.growth.from; }, {4, 4096}))));
  keys.push_back(for_families_that_take_it(later(real_key(
      {"training.growth.kimg", kKimg,
       fmt::format("Training length of each resolution once it has faded in ({})", names)},
      [](auto& job) -> auto& { return job.training.growth.kimg; }, kZeroOrMore))));
  keys.push_back(for_families_that_take_it(later(real_key(
      {"training.growth.fade_kimg", kKimg,
       fmt::format("Length of the next resolution's fade-in after that ({})", names)},
      [](auto& job) -> auto& { return job.training.growth.fade_kimg; }, kZeroOrMore))));
}

void add_autoencoding(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      &Recipe::compares_values,
      with_default(choice_key(
                       {"training.reconstruction", "",
                        "Likelihood of an example: bernoulli, shades are probabilities of white; "
                        "squared, a Gaussian around the values; absolute, a Laplacian"},
                       [](auto& job) -> auto& { return job.training.autoencoder.reconstruction; }),
                   "squared for points, else bernoulli")));
  keys.push_back(for_autoencoders(real_key(
      {"training.kl_weight", "", "Weight beta of the code's KL divergence (Higgins et al., 2017)"},
      [](auto& job) -> auto& { return job.training.autoencoder.kl_weight; }, kZeroOrMore)));
  keys.push_back(for_recipes(
      &Recipe::compares_features,
      later(real_key(
          {"training.adversarial_weight", "",
           "Weight of the adversarial loss beside the reconstruction loss in the generator's loss: "
           "1 / gamma (vae-gan, Larsen et al., 2016)"},
          [](auto& job) -> auto& { return job.training.autoencoder.adversarial_weight; },
          kZeroOrMore))));
}

void add_information(std::vector<Key>& keys) {
  keys.push_back(for_codes(later(real_key(
      {"training.information_weight", "",
       "Weight lambda of the mutual information with the latent codes (InfoGAN, Chen et al., "
       "2016)"},
      [](auto& job) -> auto& { return job.training.information.weight; }, kZeroOrMore))));
  keys.push_back(for_codes(later(real_key(
      {"training.codes_weight", "",
       "Weight of the continuous codes in that information, relative to the categorical code"},
      [](auto& job) -> auto& { return job.training.information.codes; }, kZeroOrMore))));
}

bool is_paired(const Recipe& recipe) { return recipe.translates && !recipe.is_cyclic; }

void add_translation(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      is_paired,
      later(real_key(
          {"training.l1_weight", "",
           "Weight of the mean absolute difference from the pair's target picture, beside the "
           "adversarial loss (pix2pix, Isola et al., 2017)"},
          [](auto& job) -> auto& { return job.training.translation.l1_weight; }, kZeroOrMore))));
  const auto cyclic = [&keys](Key key) {
    keys.push_back(for_recipes(&Recipe::is_cyclic, later(std::move(key))));
  };
  cyclic(real_key(
      {"training.cycle_weight", "",
       "Weight of the mean absolute difference between a picture and its translation there and "
       "back (CycleGAN, Zhu et al., 2017)"},
      [](auto& job) -> auto& { return job.training.translation.cycle_weight; }, kZeroOrMore));
  const auto pooling = [&keys](Key key) {
    keys.push_back(for_recipes(&Recipe::has_pools, later(std::move(key))));
  };
  pooling(real_key(
      {"training.identity_weight", "",
       "Weight of the difference between a picture and its translation by the generator to its own "
       "side; 0: not computed"},
      [](auto& job) -> auto& { return job.training.translation.identity_weight; }, kZeroOrMore));
  pooling(whole_key({"training.pool", "images",
                     "Generated images that each micro-batch keeps per generator, to show the "
                     "discriminators again (Shrivastava et al., 2017); 0: none"},
                    [](auto& job) -> auto& { return job.training.translation.pool; }, {0, 4096}));
}

void add_style(std::vector<Key>& keys) {
  const auto first = static_cast<std::ptrdiff_t>(keys.size());
  add_hashed_file_keys(
      keys,
      {"training.style.picture", "",
       "Picture that gives the style: its centre, at model.resolution (style-transfer, Johnson et "
       "al., 2016)"},
      "a PNG or JPEG file", [](auto& job) -> auto& { return job.training.style.picture; });
  keys[static_cast<std::size_t>(first)] =
      for_style(std::move(keys[static_cast<std::size_t>(first)]));
  keys.push_back(for_style(later(real_key(
      {"training.style.weight", "",
       "Weight of the style loss: distance of the features' Gram matrices, over all levels"},
      [](auto& job) -> auto& { return job.training.style.weight; }, kZeroOrMore))));
  keys.push_back(for_style(later(real_key(
      {"training.style.content_weight", "", "Weight of the content loss: distance of the features"},
      [](auto& job) -> auto& { return job.training.style.content_weight; }, kZeroOrMore))));
  keys.push_back(for_style(later(
      whole_key({"training.style.content_level", "",
                 "Level of the features that the content loss compares; 1 is the first"},
                [](auto& job) -> auto& { return job.training.style.content_level; }, {1, 64}))));
  keys.push_back(for_style(later(real_key(
      {"training.style.total_variation", "",
       "Weight of the squared differences of neighbouring pixels; 0: none"},
      [](auto& job) -> auto& { return job.training.style.total_variation; }, kZeroOrMore))));
}

}  // namespace

void add_training_keys(std::vector<Key>& keys) {
  keys.push_back(later(recipe_key({"training.recipe", "", "What a step does: " + recipe_docs()})));
  add_step_keys(keys);
  // Changes no weight of a given step; job_fingerprint counts it if a schedule ends there.
  keys.push_back(for_speed(real_key(
      {"training.kimg", kKimg, "Training length in real images"},
      [](auto& job) -> auto& { return job.training.kimg; }, kAboveZero)));
  keys.push_back(whole_key({"training.batch", "images", "Images per phase, over all workers"},
                           [](auto& job) -> auto& { return job.training.batch; }, {1, 1'048'576}));
  keys.push_back(whole_key({"training.microbatches", "",
                            "Micro-batches per batch: the unit of arithmetic, and the largest "
                            "number of data-parallel workers"},
                           [](auto& job) -> auto& { return job.training.microbatches; },
                           {1, 65'536}));
  keys.push_back(whole_key({"training.seed", "", "Seed of every random number"},
                           [](auto& job) -> auto& { return job.training.seed; }, {}));
  keys.push_back(later(real_key(
      {"training.burn_in_kimg", kKimg,
       "Images over which values with a final value reach it, on half a cosine; 0: all of "
       "training.kimg"},
      [](auto& job) -> auto& { return job.training.burn_in_kimg; }, kZeroOrMore)));
  add_growth(keys);
  add_losses(keys);
  add_regularisers(keys);
  add_path_length(keys);
  add_augmentation_keys(keys);
  add_autoencoding(keys);
  add_information(keys);
  add_translation(keys);
  add_style(keys);
  add_divergence_keys(keys);
}

}  // namespace gangway
