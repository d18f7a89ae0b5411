// SPDX-License-Identifier: MIT
// The recipes that a job may name, as far as job files need them: which networks one trains. What a
// step of each does, gan/recipes/ says. Pure; any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

inline constexpr std::size_t kMostNetworks = 8;  ///< of a recipe (comm/transport/message_tag.hpp)

struct RecipeNetwork {
  std::string_view name;     ///< as job files and tensors have it; no two of a recipe share it
  std::string_view role;     ///< which of the family's architectures it has
  double ema_kimg = 0.0;     ///< usual half-life of the average of its weights
  bool is_averaged = false;  ///< whether there may be an average
  bool is_frozen = false;    ///< whether it is never trained
};

/// Whether what a network in `role` makes is a verdict on examples, whatever the network's name is.
/// Knows the roles of Gangway's families; false for a library's.
[[nodiscard]] bool judges(std::string_view role);

/// A row of the table.
struct Recipe {
  std::string_view name;                ///< as job files have it
  std::string_view doc;                 ///< half a line for the reference page
  std::vector<RecipeNetwork> networks;  ///< in the order of their numbers
  std::string_view shown;  ///< the network whose results are pictures, samples and scores
  /// The network that may be updated several times a step, each time on new real examples; empty:
  /// none is.
  std::string_view counts = {};
  bool is_adversarial = false;   ///< whether training.loss has a meaning
  bool takes_penalties = false;  ///< on its discriminator; then the loss may couple examples too
  bool augments = false;         ///< whether what its discriminator judges may be augmented
  /// Whether there is a code of an example, from which the example is made again.
  bool is_autoencoder = false;
  /// Whether that is told by how near its values are (training.reconstruction).
  bool compares_values = false;
  /// Whether by the features that a discriminator sees in them.
  [[nodiscard]] bool compares_features() const { return is_autoencoder && !compares_values; }
  bool has_codes = false;  ///< whether the generator takes latent codes (model.codes)
  /// Whether the network shown makes its pictures of other pictures, not of noise.
  bool takes_pictures = false;
  /// Whether of pictures of one side those of another: examples are two pictures, one of each side
  /// (data.source pairs: and the like). One that translates takes pictures.
  bool translates = false;
  bool is_cyclic = false;  ///< whether there is a way back (training.cycle_weight)
  /// Whether identities count (training.identity_weight), and pools of what was made
  /// (training.pool).
  bool has_pools = false;
  bool has_style = false;  ///< whether those get the style of one (training.style)
  bool is_own = false;     ///< whether it has the networks of a step of the user's: own_recipe()
  /// Whether there are samples and scores of the network shown: where it takes pictures, there are
  /// where held-out examples have those that it should make of them.
  [[nodiscard]] bool has_samples() const { return !takes_pictures || translates; }
};

/// "vae, vae-gan": the names of those for which `is_meant` holds.
[[nodiscard]] std::string recipe_names(std::string_view separator,
                                       const std::function<bool(const Recipe&)>& is_meant);

/// All, in the order in which people read them; they stay where they are.
[[nodiscard]] const std::vector<Recipe>& recipes();

/// The one that a job has that names none.
[[nodiscard]] const Recipe* default_recipe();

/// @throws InvariantError for a name that none has
[[nodiscard]] const Recipe* recipe_named(std::string_view name);

/// The one of a job that names its networks itself, for training.step. The first is shown, and may
/// have an average from the beginning; the second is the one that counts. The same object for the
/// same names, 1 to 8 of them, for ever; any thread.
[[nodiscard]] const Recipe* own_recipe(const std::vector<std::string>& networks);

}  // namespace gangway
