// SPDX-License-Identifier: MIT
#include "job/keys/key_uses.hpp"

#include <utility>

#include <fmt/format.h>

#include "job/keys/family_texts.hpp"

namespace gangway {

Key for_images(Key key) {
  key.why_refused = refuse_unless_images;
  return key;
}

Key for_labels(Key key) {
  key.why_refused = refuse_unless_labels;
  return key;
}

Key for_families_that_take_it(Key key) {
  key.description = fmt::format(fmt::runtime(key.description), families_that_take(key.path));
  key.why_refused = [path = key.path](const JobSpec& job) {
    return refuse_unless_taken(path, job);
  };
  return key;
}

Key unless_own(Key key) {
  key.why_refused = refuse_if_own;
  return key;
}

Key for_gpus(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    return job.numerics.device != DeviceKind::kCpu
               ? ""
               : "has a meaning for numerics.device cuda alone; leave it out";
  };
  return key;
}

Key for_kernels(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    if (job.numerics.kernels == KernelChoice::kPytorch) {
      return job.numerics.device != DeviceKind::kCuda && job.computes_in_python()
                 ? ""
                 : "pytorch has a meaning for Python networks on CPUs alone; leave it out";
    }
    return job.numerics.device != DeviceKind::kCpu
               ? ""
               : "has a meaning for numerics.device cuda alone; leave it out";
  };
  return key;
}

std::string refuse_beside_own_step(const JobSpec& job) {
  return job.training.step.is_python()
             ? "has no meaning beside training.step, which defines its own losses; leave it out"
             : "";
}

Key for_recipes(const std::function<bool(const Recipe&)>& is_meant, Key key) {
  // A user's step leaves to the job which of a step's new examples kimg counts.
  const bool is_of_step =
      key.path.starts_with("training.") && key.path != "training.generator_reals";
  key.why_refused = [is_meant, is_of_step](const JobSpec& job) -> std::string {
    const Recipe& recipe = *job.training.recipe;
    return is_meant(recipe)
               ? (is_of_step ? refuse_beside_own_step(job) : "")
               : fmt::format("has no meaning for training.recipe {} (it has for {}); leave it out",
                             recipe.name, recipe_names(", ", is_meant));
  };
  return key;
}

Key for_adversaries(Key key) { return for_recipes(&Recipe::is_adversarial, std::move(key)); }

Key for_penalties(Key key) { return for_recipes(&Recipe::takes_penalties, std::move(key)); }

Key for_fakes(Key key) {
  return for_recipes(
      [](const Recipe& recipe) {
        return recipe.is_adversarial && !recipe.is_autoencoder && !recipe.is_cyclic;
      },
      std::move(key));
}

Key for_autoencoders(Key key) { return for_recipes(&Recipe::is_autoencoder, std::move(key)); }

Key for_codes(Key key) { return for_recipes(&Recipe::has_codes, std::move(key)); }

Key for_style(Key key) { return for_recipes(&Recipe::has_style, std::move(key)); }

Key for_distillation(Key key) { return for_recipes(&Recipe::distils, std::move(key)); }

Key for_pairs(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    return job.data.has_pairs() ? ""
                                : "has a meaning for pairs alone, of which training.recipe pix2pix "
                                  "learns; leave it out";
  };
  return key;
}

Key for_free_shades(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    return job.data.has_pairs() ? "would change the shades of pairs, which belong together; leave "
                                  "it out (crop, zoom, rotation and mirror change both alike)"
                                : refuse_unless_images(job);
  };
  return key;
}

Key for_colours(Key key) {
  key = for_free_shades(std::move(key));
  key.why_refused = [otherwise = std::move(key.why_refused)](const JobSpec& job) -> std::string {
    const std::string why = otherwise(job);
    return why.empty() && job.model.channels != 3
               ? "has a meaning for model.channels 3 alone; leave it out"
               : why;
  };
  return key;
}

Key for_noise(Key key) {
  key.why_refused = [](const JobSpec& job) -> std::string {
    const Recipe& recipe = *job.training.recipe;
    return recipe.takes_pictures && job.model.latent != ModelSpec{}.latent
               ? fmt::format(
                     "has no meaning for training.recipe {}, which makes its pictures of "
                     "other pictures; leave it out",
                     recipe.name)
               : "";
  };
  return key;
}

Key with_default(Key key, std::string note) {
  key.default_note = std::move(note);
  return key;
}

Key for_speed(Key key) {
  key.changes_weights = false;
  return key;
}

Key later(Key key) {
  key.is_fingerprinted_at_default = false;
  return key;
}

}  // namespace gangway
