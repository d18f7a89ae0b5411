// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/utf8.hpp"
#include "job/choices.hpp"
#include "job/data_source.hpp"
#include "job/families/families.hpp"
#include "job/keys/family_texts.hpp"
#include "job/models/python_network.hpp"
#include "job/rules/rule.hpp"

namespace gangway {
namespace {

constexpr int kFashionMnistLabels = 10;
constexpr int kStackedLabels = 1000;  // 10 for each channel
constexpr int kStackedChannels = 3;

bool is_toy(const JobSpec& job) { return job.data.source.starts_with(kToySource); }

std::string check_family_and_source(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  if (!is_known_source(job.data.source)) {
    return {};  // another rule reports it
  }
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

std::string check_sides(const JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  if (recipe.translates == job.data.has_two_sides()) {
    return {};
  }
  return recipe.translates
             ? fmt::format(
                   "recipe {} makes pictures of pictures, and '{}' has no two sides; use "
                   "pairs:DIR_OR_FILE, unpaired:DIR_OR_FILE, edges:fashion-mnist or "
                   "classes:fashion-mnist:A,B",
                   recipe.name, shown(job.data.source))
             : fmt::format("'{}' has two sides, which recipe {} has no place for; use {}",
                           shown(job.data.source), recipe.name,
                           recipe_names(" or ", &Recipe::translates));
}

/// Returns the first network that neither the user nor the family provides; null: none.
const RecipeNetwork* missing_network(const JobSpec& job) {
  for (const RecipeNetwork& network : job.training.recipe->networks) {
    if (!job.training.recipe->is_own && job.network(network.name).module.file.empty() &&
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
  if (job.model.family == own_family() && !may_be_own(missing->role)) {
    return fmt::format(
        "recipe {} needs a family's {}; use another model.family beside your classes", recipe.name,
        missing->name);
  }
  if (job.model.family == own_family()) {
    return fmt::format("recipe {} needs model.{}, a class of yours; or use another model.family",
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
                          "recipe {} takes no penalties, and loss {} needs one; use nonsaturating, "
                          "least-squares or hinge",
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

std::string check_style(const JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  const StyleSpec& style = job.training.style;
  if (!recipe.has_style) {
    return {};
  }
  if (job.model.family->makes_points) {
    return fmt::format("recipe {} changes pictures, and family {} makes points", recipe.name,
                       job.model.family->name);
  }
  if (style.picture.file.empty()) {
    return fmt::format("recipe {} needs training.style.picture, a PNG or JPEG file", recipe.name);
  }
  return style.weight + style.content_weight + style.total_variation > 0.0
             ? ""
             : "set one of training.style.weight, content_weight and total_variation above 0";
}

std::string check_levels(const JobSpec& job) {
  const int levels = job.model.levels;
  if (!job.training.recipe->has_style) {
    return {};
  }
  if (job.training.style.content_level > levels) {
    return fmt::format("model.levels is {}, and there is no level {}", levels,
                       job.training.style.content_level);
  }
  const int most = job.model.family->levels;
  return job.network("features").module.file.empty() && most > 0 && levels > most
             ? fmt::format("the features of family {} have {} levels, not {}",
                           job.model.family->name, most, levels)
             : "";
}

std::string check_scored(const JobSpec& job) {
  const Recipe& recipe = *job.training.recipe;
  const bool is_scored = recipe.has_samples() && (!recipe.translates || job.data.has_pairs());
  return !is_scored && job.is_scored()
             ? fmt::format(
                   "recipe {} makes its pictures of other pictures, for which there is no score; "
                   "leave it out",
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

std::string check_attention(const JobSpec& job) {
  const ModelSpec& model = job.model;
  if (!model.family->takes("model.attention") || model.attention == 0) {
    return {};
  }
  for (int side = model.resolution / 2; side >= 8; side /= 2) {
    if (side == model.attention) {
      return {};
    }
  }
  return fmt::format("family {} has no maps of {} pixels in both networks; use {}, or 0",
                     model.family->name, model.attention, model.resolution / 2);
}

std::string check_attention_everywhere(const JobSpec& job) {
  const ModelSpec& model = job.model;
  return model.attends_everywhere && (model.resolution != 32 || model.attention != 16)
             ? "published only for 32 pixels with model.attention 16; use false"
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

std::string check_decay(const JobSpec& job) {
  const bool decays = std::ranges::any_of(job.networks, [](const NetworkSpec& network) {
    return network.optimizer.weight_decay > 0.0;
  });
  return job.model.family->grows() && decays
             ? fmt::format(
                   "weights of later resolutions would decay before they are trained in family {}; "
                   "use weight_decay 0",
                   job.model.family->name)
             : "";
}

std::string check_interpolates(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  return family.judges_depths && job.training.penalty.gradient_penalty > 0.0
             ? fmt::format(
                   "family {} judges pictures of several depths, which the penalty cannot mix with "
                   "a real one; use 0, and training.r1 and training.r2",
                   family.name)
             : "";
}

std::string check_path_length(const JobSpec& job) {
  const bool is_own = job.training.recipe->takes_penalties && job.training.path_length.is_any() &&
                      !job.network("generator").module.file.empty();
  return is_own
             ? "path lengths need the family's styles, which a generator of your own lacks; use 0"
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

std::string check_widest(const JobSpec& job) {
  const ModelSpec& model = job.model;
  const bool is_size = std::has_single_bit(static_cast<unsigned>(model.widest_side)) &&
                       model.widest_side <= model.resolution;
  return !model.family->takes("model.widest_side") || is_size
             ? ""
             : fmt::format("there are no maps of {} pixels a side; use a power of two up to {}",
                           model.widest_side, model.resolution);
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

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Rule> model_rules() {
  return {
      {{"model.family", "data.source"},
       fmt::format("`model.family` {} needs toy data, all other families need images.",
                   family_names(" and ", &ModelFamily::makes_points)),
       check_family_and_source},
      {{"data.source", "training.recipe"},
       fmt::format("`data.source` has two sides only with `training.recipe` {}.",
                   recipe_names(" and ", &Recipe::translates)),
       check_sides},
      {{"training.recipe", "model.family"},
       "`model.family` has the networks that `training.recipe` needs.",
       check_recipe},
      {{"training.reconstruction", "model.family"},
       "`training.reconstruction` bernoulli goes with images.",
       check_reconstruction,
       {"training.reconstruction"}},
      {{"training.loss", "training.recipe"},
       fmt::format("`training.loss` wasserstein and relativistic go with `training.recipe` {}.",
                   recipe_names(" and ", &Recipe::takes_penalties)),
       check_loss},
      {{"training.recipe", "model.codes", "model.categories"},
       fmt::format("`training.recipe` {} needs `model.codes` or `model.categories` above 0.",
                   recipe_names(" and ", &Recipe::has_codes)),
       check_codes},
      {{"training.recipe", "training.style.picture", "training.style.weight", "model.family"},
       fmt::format("`training.recipe` {} needs `training.style.picture`, and a weight above 0.",
                   recipe_names(" and ", &Recipe::has_style)),
       check_style},
      {{"model.levels", "training.style.content_level", "model.family"},
       "`training.style.content_level` is at most `model.levels`, itself at most the levels of the "
       "feature network.",
       check_levels},
      {{"checkpoint.keep_best", "evaluation.every_kimg", "training.recipe"},
       fmt::format(
           "`checkpoint.keep_best` and `evaluation.every_kimg` are 0 with `training.recipe` {}.",
           recipe_names(" and ", std::not_fn(&Recipe::has_samples))),
       check_scored,
       {"checkpoint.keep_best", "evaluation.every_kimg"}},
      {{"model.resolution", "model.family"},
       fmt::format("`model.resolution` is {}.", allowed_resolutions()),
       check_resolution},
      {{"model.patch", "model.resolution"},
       "`model.patch` divides `model.resolution`.",
       check_patch},
      {{"model.widest_side", "model.resolution"},
       "`model.widest_side` is a power of two up to `model.resolution`.",
       check_widest},
      {{"model.attention", "model.resolution"},
       "`model.attention` is 0, or `model.resolution` halved at least once, down to 8.",
       check_attention},
      {{"model.attention_everywhere", "model.attention", "model.resolution"},
       "`model.attention_everywhere` is true only with `model.resolution` 32 and `model.attention` "
       "16.",
       check_attention_everywhere},
      {{"training.growth.from", "model.resolution"},
       "`training.growth.from` is a power of two up to `model.resolution`.",
       check_growth},
      {{"model.family"},
       fmt::format("No `weight_decay` with `model.family` {}.",
                   family_names(" or ", &ModelFamily::grows)),
       check_decay},
      {{"training.gradient_penalty", "training.loss", "model.family"},
       fmt::format("`training.gradient_penalty` is 0 with `model.family` {}.",
                   family_names(" or ", &ModelFamily::judges_depths)),
       check_interpolates},
      {{"training.path_length.weight"},
       "`training.path_length.weight` above 0 needs the family's generator.",
       check_path_length},
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
