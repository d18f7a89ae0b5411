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
       "Whether the generator learns from the examples that the discriminator has learnt from, "
       "not from new ones: one pass less a step"},
      [](auto& job) -> auto& { return job.training.reuse_fakes; }))));
  keys.push_back(for_penalties(later(choice_key(
      {"training.fake_labels", "",
       "Which labels generated examples have: uniform, each as likely; data, each as often as in "
       "the data. With loss relativistic those of the real examples that they are compared with"},
      [](auto& job) -> auto& { return job.training.fake_labels; }))));
  keys.push_back(for_penalties(later(choice_key(
      {"training.generator_reals", "",
       "Which real examples the generator's phase looks at, where the loss is relativistic or "
       "the step is of your own: the discriminator's, or new ones"},
      [](auto& job) -> auto& { return job.training.generator_reals; }))));
  keys.push_back(for_penalties(with_default(
      real_key(
          {"training.gradient_penalty", "",
           "Weight of the WGAN-GP penalty (Gulrajani et al., 2017); 0: none"},
          [](auto& job) -> auto& { return job.training.penalty.gradient_penalty; }, kZeroOrMore),
      "10 with wasserstein, else 0")));
  keys.push_back(for_penalties(schedule_key(
      {"training.gradient_penalty_schedule", "",
       "Factor on that weight on its way, as {decay: linear, final_factor: 0.1}"},
      [](auto& job) -> auto& { return job.training.penalty.gradient_schedule; },
      ScheduleOf::kFactor, kZeroOrMore)));
  keys.push_back(for_penalties(real_key(
      {"training.r1.gamma", "", "Weight of the R1 penalty (Mescheder et al., 2018); 0: none"},
      [](auto& job) -> auto& { return job.training.penalty.r1_gamma; }, kZeroOrMore)));
  keys.push_back(for_penalties(whole_key(
      {"training.r1.interval", "steps", "Steps from one R1 penalty, and R2 penalty, to the next"},
      [](auto& job) -> auto& { return job.training.penalty.r1_interval; }, {1, 1'000'000})));
  keys.push_back(for_penalties(later(real_key(
      {"training.r1.final_factor", "", "Factor on both gammas when the burn-in is over"},
      [](auto& job) -> auto& { return job.training.penalty.final_factor; }, kZeroToOne))));
  keys.push_back(for_penalties(schedule_key(
      {"training.r1.schedule", "",
       "Factor on both gammas on its way, as {decay: linear, final_factor: 0.1}"},
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
       "beta of the orthogonal regularisation of the generator's maps (BigGAN, Brock et al., 2019, "
       "which has 1e-4); 0: none"},
      [](auto& job) -> auto& { return job.training.orthogonal_weight; }, kZeroOrMore))));
  keys.push_back(for_penalties(later(real_key(
      {"training.label_smoothing", "",
       "How far below 1 the target is that the discriminator has for real images (Salimans et al., "
       "2016)"},
      [](auto& job) -> auto& { return job.training.labels.smoothing; }, kBelowHalf))));
  keys.push_back(for_penalties(later(real_key(
      {"training.label_noise", "",
       "Probability that the discriminator is told that a real image is a generated one"},
      [](auto& job) -> auto& { return job.training.labels.noise; }, kBelowHalf))));
  keys.push_back(for_penalties(later(real_key(
      {"training.lecam.weight", "",
       "Weight of the LeCam regularisation of the discriminator (Tseng et al., 2021); 0: none"},
      [](auto& job) -> auto& { return job.training.lecam.weight; }, kZeroOrMore))));
  keys.push_back(for_penalties(later(real_key(
      {"training.lecam.decay", "",
       "What an update keeps of its moving means of what the discriminator says"},
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
      {"training.path_length.interval", "steps", "Steps from one of these to the next"},
      [](auto& job) -> auto& { return job.training.path_length.interval; }, {1, 1'000'000}))));
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

bool is_paired(const Recipe& recipe) { return recipe.translates && !recipe.is_cyclic; }

void add_translation(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      is_paired,
      later(real_key(
          {"training.l1_weight", "",
           "Of the mean absolute difference from the pair's second picture, beside what "
           "the discriminator says (pix2pix, Isola et al., 2017)"},
          [](auto& job) -> auto& { return job.training.translation.l1_weight; }, kZeroOrMore))));
  const auto cyclic = [&keys](Key key) {
    keys.push_back(for_recipes(&Recipe::is_cyclic, later(std::move(key))));
  };
  cyclic(real_key(
      {"training.cycle_weight", "",
       "Of the mean absolute difference between a picture and what comes back of it (CycleGAN, Zhu "
       "et al., 2017)"},
      [](auto& job) -> auto& { return job.training.translation.cycle_weight; }, kZeroOrMore));
  const auto pooling = [&keys](Key key) {
    keys.push_back(for_recipes(&Recipe::has_pools, later(std::move(key))));
  };
  pooling(real_key(
      {"training.identity_weight", "",
       "Of the same between a picture and what a generator makes of one of its own kind; 0: not "
       "made"},
      [](auto& job) -> auto& { return job.training.translation.identity_weight; }, kZeroOrMore));
  pooling(whole_key(
      {"training.pool", "images",
       "Made images that each micro-batch keeps of each generator, for the discriminators to be "
       "shown again (Shrivastava et al., 2017); 0: none"},
      [](auto& job) -> auto& { return job.training.translation.pool; }, {0, 4096}));
}

void add_style(std::vector<Key>& keys) {
  const auto first = static_cast<std::ptrdiff_t>(keys.size());
  add_hashed_file_keys(
      keys,
      {"training.style.picture", "",
       "Whose style the pictures are to have; its centre, at model.resolution "
       "(style-transfer, Johnson et al., 2016)"},
      "a PNG or JPEG file", [](auto& job) -> auto& { return job.training.style.picture; });
  keys[static_cast<std::size_t>(first)] =
      for_style(std::move(keys[static_cast<std::size_t>(first)]));
  keys.push_back(for_style(later(real_key(
      {"training.style.weight", "",
       "Of the distance of the styles: of the features' Gram matrices, over all levels"},
      [](auto& job) -> auto& { return job.training.style.weight; }, kZeroOrMore))));
  keys.push_back(for_style(later(real_key(
      {"training.style.content_weight", "", "Of the distance of the contents: of the features"},
      [](auto& job) -> auto& { return job.training.style.content_weight; }, kZeroOrMore))));
  keys.push_back(for_style(later(whole_key(
      {"training.style.content_level", "", "Which of the levels tells the content; 1 is the first"},
      [](auto& job) -> auto& { return job.training.style.content_level; }, {1, 64}))));
  keys.push_back(for_style(later(real_key(
      {"training.style.total_variation", "",
       "Of the squared differences of neighbouring pixels; 0: they do not count"},
      [](auto& job) -> auto& { return job.training.style.total_variation; }, kZeroOrMore))));
}

}  // namespace

void add_training_keys(std::vector<Key>& keys) {
  keys.push_back(later(recipe_key({"training.recipe", "", "What a step does: " + recipe_docs()})));
  add_step_keys(keys);
  // Changes no weight of a given step; job_fingerprint counts it if a schedule ends there.
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
