// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include <fmt/format.h>

#include "job/keys/family_texts.hpp"
#include "job/keys/hashed_file_keys.hpp"
#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/schedule_keys.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

void add_losses(std::vector<Key>& keys) {
  const auto add_later = [&keys](Key key) { keys.push_back(for_penalties(later(std::move(key)))); };
  keys.push_back(
      for_adversaries(choice_key("training.loss", &TrainingSpec::loss, "Loss of both networks")));
  keys.push_back(for_fakes(
      later(choice_key("training.reuse_fakes", &TrainingSpec::reuse_fakes,
                       "Whether the generator's phase reuses the fakes of the discriminator's "
                       "phase instead of new fakes; this saves a forward pass per step"))));
  add_later(choice_key(
      "training.fake_labels", &TrainingSpec::fake_labels,
      "Labels of generated examples: uniform, all equally likely; data, as often as in the data. "
      "With loss relativistic, they have the labels of the real examples they are compared with"));
  add_later(choice_key("training.generator_reals", &TrainingSpec::generator_reals,
                       "Real examples of the generator's phase, with loss relativistic or your own "
                       "training.step: the same as the discriminator's, or new examples"));
  keys.push_back(for_penalties(with_default(
      real_key("training.gradient_penalty", "", &PenaltySpec::gradient_penalty, kZeroOrMore,
               "Weight of the WGAN-GP penalty (Gulrajani et al., 2017); 0: none"),
      "10 with wasserstein, else 0")));
  keys.push_back(for_penalties(schedule_key(
      "training.gradient_penalty_schedule", &PenaltySpec::gradient_schedule, ScheduleOf::kFactor,
      kZeroOrMore, "Schedule of a factor on that weight, as {decay: linear, final_factor: 0.1}")));
  keys.push_back(
      for_penalties(real_key("training.r1.gamma", "", &PenaltySpec::r1_gamma, kZeroOrMore,
                             "Weight of the R1 penalty (Mescheder et al., 2018); 0: none")));
  keys.push_back(
      for_penalties(whole_key("training.r1.interval", "steps", &PenaltySpec::r1_interval,
                              {1, 1'000'000}, "Steps from one R1 (and R2) penalty to the next")));
  add_later(real_key("training.r1.final_factor", "", &PenaltySpec::final_factor, kZeroToOne,
                     "Factor on both gammas at the end of the burn-in"));
  keys.push_back(for_penalties(schedule_key(
      "training.r1.schedule", &PenaltySpec::gamma_schedule, ScheduleOf::kFactor, kZeroOrMore,
      "Schedule of a factor on both gammas, as {decay: linear, final_factor: 0.1}")));
  add_later(real_key(
      "training.r2.gamma", "", &PenaltySpec::r2_gamma, kZeroOrMore,
      "Weight of the R2 penalty: as R1, on generated images (R3GAN, Huang et al., 2024); 0: none"));
}

/// Restricts a key to families that take it, and recipes that take penalties.
Key for_penalised_families(Key key) {
  const auto by_recipe = for_penalties(key).why_refused;
  key = for_families_that_take_it(std::move(key));
  key.why_refused = [by_family = std::move(key.why_refused), by_recipe](const JobSpec& job) {
    std::string why = by_family(job);
    return why.empty() ? by_recipe(job) : why;
  };
  return key;
}

constexpr RealBounds kBelowHalf{.high = 0.5, .is_high_allowed = false};

void add_regularisers(std::vector<Key>& keys) {
  const auto add = [&keys](Key key) { keys.push_back(for_penalties(later(std::move(key)))); };
  keys.push_back(for_penalised_families(later(
      real_key("training.orthogonal_weight", "", &TrainingSpec::orthogonal_weight, kZeroOrMore,
               "Weight beta of the orthogonal regularisation of the generator's weight matrices "
               "(BigGAN, Brock et al., 2019, uses 1e-4); 0: none"))));
  add(real_key(
      "training.label_smoothing", "", &LabelSpec::smoothing, kBelowHalf,
      "How far the discriminator's target for real images is below 1 (Salimans et al., 2016)"));
  add(real_key(
      "training.label_noise", "", &LabelSpec::noise, kBelowHalf,
      "Probability that a real image gets the discriminator's target for generated images"));
  add(real_key(
      "training.lecam.weight", "", &LecamSpec::weight, kZeroOrMore,
      "Weight of the LeCam regularisation of the discriminator (Tseng et al., 2021); 0: none"));
  add(real_key("training.lecam.decay", "", &LecamSpec::decay, kZeroToBelowOne,
               "Decay of LeCam's moving means of the discriminator's logits"));
}

void add_path_length(std::vector<Key>& keys) {
  keys.push_back(for_penalised_families(
      later(real_key("training.path_length.weight", "", &PathLengthSpec::weight, kZeroOrMore,
                     "Weight of the generator's path length regularisation (Karras et al., 2020, "
                     "where it is 2); 0: none ({})"))));
  keys.push_back(for_penalised_families(
      later(whole_key("training.path_length.interval", "steps", &PathLengthSpec::interval,
                      {1, 1'000'000}, "Steps from one path length penalty to the next"))));
}

void add_growth(std::vector<Key>& keys) {
  const auto add = [&keys](Key key) {
    keys.push_back(for_families_that_take_it(later(std::move(key))));
  };
  add(whole_key(
      "training.growth.from", "pixels", &GrowthSpec::from, {4, 4096},
      "Side of the pictures at the start of training; it doubles up to model.resolution ({})"));
  add(real_key("training.growth.kimg", kKimg, &GrowthSpec::kimg, kZeroOrMore,
               "Training length of each resolution once it has faded in ({})"));
  add(real_key("training.growth.fade_kimg", kKimg, &GrowthSpec::fade_kimg, kZeroOrMore,
               "Length of the next resolution's fade-in after that ({})"));
}

void add_autoencoding(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      &Recipe::compares_values,
      with_default(
          choice_key("training.reconstruction", &AutoencoderSpec::reconstruction,
                     "Likelihood of an example: bernoulli, shades are probabilities of white; "
                     "squared, a Gaussian around the values; absolute, a Laplacian"),
          "squared for points, else bernoulli")));
  keys.push_back(
      for_autoencoders(real_key("training.kl_weight", "", &AutoencoderSpec::kl_weight, kZeroOrMore,
                                "Weight beta of the code's KL divergence (Higgins et al., 2017)")));
  keys.push_back(for_recipes(
      &Recipe::compares_features,
      later(real_key("training.adversarial_weight", "", &AutoencoderSpec::adversarial_weight,
                     kZeroOrMore,
                     "Weight of the adversarial loss beside the reconstruction loss in the "
                     "generator's loss: 1 / gamma (vae-gan, Larsen et al., 2016)"))));
}

void add_information(std::vector<Key>& keys) {
  keys.push_back(for_codes(
      later(real_key("training.information_weight", "", &InformationSpec::weight, kZeroOrMore,
                     "Weight lambda of the mutual information with the latent codes (InfoGAN, Chen "
                     "et al., 2016)"))));
  keys.push_back(for_codes(later(real_key(
      "training.codes_weight", "", &InformationSpec::codes, kZeroOrMore,
      "Weight of the continuous codes in that information, relative to the categorical code"))));
}

bool is_paired(const Recipe& recipe) { return recipe.translates && !recipe.is_cyclic; }

void add_translation(std::vector<Key>& keys) {
  keys.push_back(for_recipes(
      is_paired,
      later(real_key("training.l1_weight", "", &TranslationSpec::l1_weight, kZeroOrMore,
                     "Weight of the mean absolute difference from the pair's target picture, "
                     "beside the adversarial loss (pix2pix, Isola et al., 2017)"))));
  keys.push_back(for_recipes(
      &Recipe::is_cyclic,
      later(real_key("training.cycle_weight", "", &TranslationSpec::cycle_weight, kZeroOrMore,
                     "Weight of the mean absolute difference between a picture and its translation "
                     "there and back (CycleGAN, Zhu et al., 2017)"))));
  const auto pooling = [&keys](Key key) {
    keys.push_back(for_recipes(&Recipe::has_pools, later(std::move(key))));
  };
  pooling(real_key("training.identity_weight", "", &TranslationSpec::identity_weight, kZeroOrMore,
                   "Weight of the difference between a picture and its translation by the "
                   "generator to its own side; 0: not computed"));
  pooling(whole_key("training.pool", "images", &TranslationSpec::pool, {0, 4096},
                    "Generated images that each micro-batch keeps per generator, to show the "
                    "discriminators again (Shrivastava et al., 2017); 0: none"));
}

void add_style(std::vector<Key>& keys) {
  const auto add = [&keys](Key key) { keys.push_back(for_style(later(std::move(key)))); };
  add_hashed_file_keys(
      keys,
      {"training.style.picture", "",
       "Picture that gives the style: its centre, at model.resolution (style-transfer, Johnson et "
       "al., 2016)"},
      "a PNG or JPEG file", [](auto& job) -> auto& { return job.training.style.picture; });
  Key& picture = keys[keys.size() - 2];  // its hash follows it
  picture = for_style(std::move(picture));
  add(real_key(
      "training.style.weight", "", &StyleSpec::weight, kZeroOrMore,
      "Weight of the style loss: distance of the features' Gram matrices, over all levels"));
  add(real_key("training.style.content_weight", "", &StyleSpec::content_weight, kZeroOrMore,
               "Weight of the content loss: distance of the features"));
  add(whole_key("training.style.content_level", "", &StyleSpec::content_level, {1, 64},
                "Level of the features that the content loss compares; 1 is the first"));
  add(real_key("training.style.total_variation", "", &StyleSpec::total_variation, kZeroOrMore,
               "Weight of the squared differences of neighbouring pixels; 0: none"));
}

void add_distillation(std::vector<Key>& keys) {
  const auto add = [&keys](Key key) { keys.push_back(for_distillation(later(std::move(key)))); };
  add(real_key("training.distill.adversarial_weight", "", &DistillSpec::adversarial_weight,
               kZeroOrMore, "Weight of the adversarial loss in the generator's loss (distill)"));
  add(real_key("training.distill.picture_weight", "", &DistillSpec::picture_weight, kZeroOrMore,
               "Weight of the mean absolute difference between the generator's and the teacher's "
               "example of the same noise and label"));
  add(real_key("training.distill.feature_weight", "", &DistillSpec::feature_weight, kZeroOrMore,
               "Weight of the mean absolute difference of their features, which the trunk of the "
               "discriminator computes"));
}

}  // namespace

void add_training_keys(std::vector<Key>& keys) {
  keys.push_back(later(recipe_key({"training.recipe", "", "Steps of training: see Recipes"})));
  add_step_keys(keys);
  // Changes no weight of a given step; job_fingerprint counts it if a schedule ends there.
  keys.push_back(for_speed(real_key("training.kimg", kKimg, &TrainingSpec::kimg, kAboveZero,
                                    "Training length in real images")));
  keys.push_back(whole_key("training.batch", "images", &TrainingSpec::batch, {1, 1'048'576},
                           "Images per phase, over all workers"));
  keys.push_back(whole_key("training.microbatches", "", &TrainingSpec::microbatches, {1, 65'536},
                           "Micro-batches per batch: the unit of arithmetic, and the largest "
                           "number of data-parallel workers"));
  keys.push_back(
      whole_key("training.seed", "", &TrainingSpec::seed, {}, "Seed of every random number"));
  keys.push_back(
      later(real_key("training.burn_in_kimg", kKimg, &TrainingSpec::burn_in_kimg, kZeroOrMore,
                     "Images over which values with a final value reach it, on half a cosine; 0: "
                     "all of training.kimg")));
  add_growth(keys);
  add_losses(keys);
  add_regularisers(keys);
  add_path_length(keys);
  add_augmentation_keys(keys);
  add_autoencoding(keys);
  add_information(keys);
  add_translation(keys);
  add_style(keys);
  add_distillation(keys);
  add_divergence_keys(keys);
}

}  // namespace gangway
