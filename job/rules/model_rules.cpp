// SPDX-License-Identifier: MIT
#include "job/rules/model_rules.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"
#include "job/choices.hpp"
#include "job/families/families.hpp"
#include "job/keys/family_texts.hpp"

namespace gangway {
namespace {

constexpr int kFashionMnistLabels = 10;
constexpr const char* kStackedSource = "stacked:fashion-mnist";
constexpr int kStackedLabels = 1000;  // of each channel one of 10
constexpr int kStackedChannels = 3;

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_toy(const JobSpec& job) { return begins_with(job.data.source, "toy:"); }

std::string check_source(const JobSpec& job) {
  const std::string& source = job.data.source;
  const std::vector<std::string> words = {"fashion-mnist", kStackedSource, "toy:ring8",
                                          "toy:grid25"};
  const bool is_folder =
      (begins_with(source, "idx:") && source.size() > std::string_view("idx:").size()) ||
      (begins_with(source, "images:") && source.size() > std::string_view("images:").size());
  if (is_folder || std::find(words.begin(), words.end(), source) != words.end()) {
    return {};
  }
  const auto near = nearest_word(source, words);
  return fmt::format(
      "'{}' is no source; expected fashion-mnist, stacked:fashion-mnist, idx:DIR, "
      "images:DIR_OR_ZIP, toy:ring8 or toy:grid25{}",
      shown(source), near ? fmt::format("; did you mean '{}'?", *near) : "");
}

std::string check_family_and_source(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  if (family.makes_points && !is_toy(job)) {
    return fmt::format(
        "family {} learns points, and '{}' has images; use data.source toy:ring8 or toy:grid25, or "
        "another model.family",
        family.name, shown(job.data.source));
  }
  if (family.makes_images() && is_toy(job)) {
    return fmt::format(
        "'{}' has points, and family {} learns images; use model.family {} or another data.source",
        shown(job.data.source), family.name, family_names(" or ", &ModelFamily::makes_points));
  }
  return {};
}

/// The first network that is neither the user's nor the family's; null: there is none.
const RecipeNetwork* missing_network(const JobSpec& job) {
  for (const RecipeNetwork& network : job.training.recipe->networks) {
    if (job.network(network.name).module.file.empty() &&
        !has_role(*job.model.family, network.role)) {
      return &network;
    }
  }
  return nullptr;
}

std::string check_recipe(const JobSpec& job) {
  const RecipeNetwork* missing = missing_network(job);
  if (missing == nullptr) {
    return {};
  }
  const Recipe& recipe = *job.training.recipe;
  if (job.model.family == own_family()) {
    return fmt::format("recipe {} needs model.{}, a TorchScript file; or use another model.family",
                       recipe.name, missing->name);
  }
  return fmt::format("recipe {} needs the role {}, which family {} has not; use model.family {}",
                     recipe.name, missing->role, job.model.family->name,
                     family_names(" or ", [&recipe](const ModelFamily& family) {
                       return missing_role(family, recipe).empty();
                     }));
}

std::string check_reconstruction(const JobSpec& job) {
  const bool is_bernoulli = job.training.autoencoder.reconstruction == Reconstruction::kBernoulli;
  return job.training.recipe->compares_values && job.model.family->makes_points && is_bernoulli
             ? "points are no shades between black and white; use squared or absolute"
             : "";
}

std::string check_loss(const JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  const LossKind loss = job.training.loss;
  const bool is_refused = recipe.is_adversarial && !recipe.takes_penalties &&
                          (loss == LossKind::kWasserstein || loss == LossKind::kRelativistic);
  return is_refused ? fmt::format(
                          "recipe {} has no place for the penalties that loss {} lives by; use "
                          "nonsaturating, least-squares or hinge",
                          recipe.name, name_of(loss))
                    : "";
}

std::string check_codes(const JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  return recipe.has_codes && !job.model.has_codes()
             ? fmt::format(
                   "recipe {} needs latent codes; use model.codes or model.categories "
                   "above 0",
                   recipe.name)
             : "";
}

std::string check_resolution(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  const std::vector<int>& allowed = family.resolutions;
  if (allowed.empty() ||
      std::find(allowed.begin(), allowed.end(), job.model.resolution) != allowed.end()) {
    return {};
  }
  return fmt::format("family {} makes images of {} pixels, not {}{}", family.name,
                     fmt::join(allowed, " or "), job.model.resolution,
                     allowed.size() == 1 ? "; leave model.resolution out" : "");
}

std::string check_patch(const JobSpec& job) {
  const ModelSpec& model = job.model;
  return model.family->takes("model.patch") && model.resolution % model.patch != 0
             ? fmt::format("{} pixels are no whole number of patches of {}; use 2, 4 or 8",
                           model.resolution, model.patch)
             : "";
}

std::string check_growth(const JobSpec& job) {
  const int from = job.training.growth.from;
  const bool is_power = from > 0 && (from & (from - 1)) == 0;
  return job.model.family->grows() && (!is_power || from > job.model.resolution)
             ? fmt::format("pictures of {} pixels do not grow twofold to {}; use 4, 8, 16 or 32",
                           from, job.model.resolution)
             : "";
}

std::string check_interpolates(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  return family.judges_depths && job.training.penalty.gradient_penalty > 0.0
             ? fmt::format(
                   "family {} judges pictures of several depths, and there is none of a real one "
                   "to "
                   "mix with; use 0, and training.r1 and training.r2",
                   family.name)
             : "";
}

std::string check_channels(const JobSpec& job) {
  return job.model.channels == 2 ? "images have 1 (grey) or 3 (RGB) channels, not 2" : "";
}

std::string check_stack(const JobSpec& job) {
  return job.data.source == kStackedSource && job.model.channels != kStackedChannels
             ? fmt::format(
                   "{} shows a garment in each of {} channels; use model.channels {}, not {}",
                   kStackedSource, kStackedChannels, kStackedChannels, job.model.channels)
             : "";
}

std::string check_classes(const JobSpec& job) {
  const int classes = job.model.classes;
  const bool is_stacked = job.data.source == kStackedSource;
  const int labels = is_stacked ? kStackedLabels : kFashionMnistLabels;
  if ((is_stacked || job.data.source == "fashion-mnist") && classes != 0 && classes != labels) {
    return fmt::format("{} has {} labels, not {}; use {}, or 0 to train without labels",
                       job.data.source, labels, classes, labels);
  }
  return {};
}

std::string check_batch(const JobSpec& job) {
  const auto& training = job.training;
  if (training.batch % training.microbatches == 0) {
    return {};
  }
  const int below = training.batch / training.microbatches * training.microbatches;
  const std::string nearest = below > 0
                                  ? fmt::format("{} or {}", below, below + training.microbatches)
                                  : std::to_string(training.microbatches);
  return fmt::format(
      "training.batch {} cannot be cut into training.microbatches {} equal pieces; use a batch of "
      "{}",
      training.batch, training.microbatches, nearest);
}

std::string check_statistics(const JobSpec& job) {
  if (job.training.batch != job.training.microbatches) {
    return {};
  }
  if (missing_network(job) != nullptr ||
      std::ranges::none_of(job.architectures(), normalizes_dense_layers)) {
    return {};
  }
  return fmt::format(
      "a micro-batch of one example has no batch statistics, which family {} needs here; use fewer "
      "training.microbatches or a larger training.batch",
      job.model.family->name);
}

}  // namespace

std::vector<Rule> model_rules() {
  return {
      {{"data.source"}, "`data.source` is one of the forms listed.", check_source},
      {{"model.family", "data.source"},
       fmt::format("`model.family` {} goes with toy data, the others with images.",
                   family_names(" and ", &ModelFamily::makes_points)),
       check_family_and_source},
      {{"training.recipe", "model.family"},
       "`model.family` has the networks that `training.recipe` needs.",
       check_recipe},
      {{"training.reconstruction", "model.family"},
       "`training.reconstruction` bernoulli goes with images.",
       check_reconstruction},
      {{"training.loss", "training.recipe"},
       fmt::format("`training.loss` wasserstein and relativistic go with `training.recipe` {}.",
                   recipe_names(" and ", &Recipe::takes_penalties)),
       check_loss},
      {{"training.recipe", "model.codes", "model.categories"},
       fmt::format("`training.recipe` {} needs `model.codes` or `model.categories` above 0.",
                   recipe_names(" and ", &Recipe::has_codes)),
       check_codes},
      {{"model.resolution", "model.family"},
       fmt::format("`model.resolution` is {}.", allowed_resolutions()),
       check_resolution},
      {{"model.patch", "model.resolution"},
       "`model.patch` divides `model.resolution`.",
       check_patch},
      {{"training.growth.from", "model.resolution"},
       "`training.growth.from` is a power of two up to `model.resolution`.",
       check_growth},
      {{"training.gradient_penalty", "training.loss", "model.family"},
       fmt::format("`training.gradient_penalty` is 0 with `model.family` {}.",
                   family_names(" or ", &ModelFamily::judges_depths)),
       check_interpolates},
      {{"model.channels"}, "`model.channels` is 1 or 3.", check_channels},
      {{"model.channels", "data.source"},
       "`model.channels` is 3 with stacked:fashion-mnist.",
       check_stack},
      {{"model.classes", "data.source"},
       "`model.classes` is 0 or 10 with fashion-mnist, 0 or 1000 with stacked:fashion-mnist.",
       check_classes},
      {{"training.batch", "training.microbatches"},
       "`training.batch` is a multiple of `training.microbatches`.",
       check_batch},
      {{"training.microbatches", "training.batch", "model.family"},
       "A micro-batch has at least 2 examples where dense layers are batch-normalized.",
       check_statistics},
  };
}

}  // namespace gangway
