// SPDX-License-Identifier: MIT
// Table of the recipes that a job may name, as far as job files need them: the networks of each.
// gan/recipes/ has their steps. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

inline constexpr std::size_t kMostNetworks = 8;  ///< of a recipe (comm/transport/message_tag.hpp)

struct RecipeNetwork {
  std::string_view name;     ///< as in job files and tensors; unique in a recipe
  std::string_view role;     ///< selects the family's architecture
  double ema_kimg = 0.0;     ///< default half-life of the average of its weights
  bool is_averaged = false;  ///< whether an average is allowed
  bool is_frozen = false;    ///< whether it is never trained
  bool is_teacher = false;   ///< whether its width is model.teacher_width, not model.width
};

/// Returns whether a network in `role` judges examples, under any name. Knows the roles of
/// Gangway's families; false for a library's roles.
[[nodiscard]] bool judges(std::string_view role);

/// A row of the table.
struct Recipe {
  std::string_view name;                ///< as job files have it
  std::string_view doc;                 ///< half a line for the reference page
  std::vector<RecipeNetwork> networks;  ///< in the order of their numbers
  std::string_view shown;               ///< network whose results are pictures, samples and scores
  /// Network that may be updated several times a step, each time on new real examples; empty: none.
  std::string_view counts = {};
  bool is_adversarial = false;   ///< whether training.loss applies
  bool takes_penalties = false;  ///< on the discriminator; then the loss may couple examples, too
  bool augments = false;         ///< whether the discriminator's inputs may be augmented
  /// Whether it encodes examples and reconstructs them from their codes.
  bool is_autoencoder = false;
  /// Whether a reconstruction is compared by its values (training.reconstruction).
  bool compares_values = false;
  /// Returns whether a reconstruction is compared by a discriminator's features.
  [[nodiscard]] bool compares_features() const { return is_autoencoder && !compares_values; }
  bool has_codes = false;  ///< whether the generator takes latent codes (model.codes)
  /// Whether the shown network makes pictures from pictures, not from noise.
  bool takes_pictures = false;
  /// Whether it turns pictures of one side into the other side's. Examples are then two pictures,
  /// one of each side (data.source pairs: and the like), and `takes_pictures` is true.
  bool translates = false;
  bool is_cyclic = false;  ///< whether it also translates back (training.cycle_weight)
  /// Whether it has an identity loss (training.identity_weight) and pools of generated images
  /// (training.pool).
  bool has_pools = false;
  bool has_style = false;  ///< whether the pictures get the style of another (training.style)
  /// Returns whether a frozen teacher shows the generator what to make (training.distill).
  [[nodiscard]] bool distils() const {
    return std::ranges::any_of(networks, &RecipeNetwork::is_teacher);
  }
  bool is_own = false;  ///< whether its networks are those of a user's step: own_recipe()
  /// Returns whether the shown network has samples and scores. A network that takes pictures has
  /// them if held-out examples include the target pictures.
  [[nodiscard]] bool has_samples() const { return !takes_pictures || translates; }
};

/// Returns the names of the recipes for which `is_meant` holds: "vae, vae-gan".
[[nodiscard]] std::string recipe_names(std::string_view separator,
                                       const std::function<bool(const Recipe&)>& is_meant);

/// Returns all recipes in the order of the documentation. References stay valid.
[[nodiscard]] const std::vector<Recipe>& recipes();

/// Returns the recipe of a job that names none.
[[nodiscard]] const Recipe* default_recipe();

/// Returns the recipe of a job that names its own networks, for training.step. The first network is
/// shown and averaged by default; the second counts. Takes 1 to 8 names; the same names always give
/// the same object. Any thread.
[[nodiscard]] const Recipe* own_recipe(const std::vector<std::string>& networks);

}  // namespace gangway
