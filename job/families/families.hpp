// SPDX-License-Identifier: MIT
// The families of models that a job may name. Everything that depends on the family asks its row;
// CONTRIBUTING.md says how one is added. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"
#include "job/models/network_id.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

/// The architecture that a family has for one role in a recipe.
struct FamilyNetwork {
  std::string_view role;
  Architecture (*make)(const ModelSpec& model) = nullptr;
};

/// A row of the table.
struct ModelFamily {
  std::string_view name;              ///< as job files have it
  std::string_view doc;               ///< half a line for the reference page
  bool makes_points = false;          ///< of the plane, for toy data; else images
  bool is_dense = false;              ///< whether model.width counts hidden units
  std::vector<int> resolutions;       ///< pixels a side; the first is the default; none of points
  bool takes_labels = true;           ///< whether model.classes may be above 0
  bool normalizes_by_default = true;  ///< whether `auto` is batch in the discriminator (no penalty)
  /// Keys of the model and training sections that have a meaning for it and not for all.
  std::vector<std::string_view> keys = {"model.normalization", "model.activation", "model.dropout",
                                        "training.orthogonal_weight"};
  /// In training its generator makes pictures at several depths, which its discriminator judges
  /// together.
  bool judges_depths = false;
  /// Its maps are scaled where they are applied (equalized learning rate, Karras et al., 2018), so
  /// their weights begin as it has them.
  bool equalizes = false;
  /// Elements of all feature maps of one example in one network; null: the maps shrink fourfold
  /// and the channels double at each level, from `width` channels at half the picture's side.
  std::int64_t (*feature_elements)(const ModelSpec& model) = nullptr;
  int levels = 0;  ///< maps that its feature network has at most, where there is one
  std::vector<FamilyNetwork> networks;
  [[nodiscard]] bool makes_images() const { return !makes_points; }
  /// Whether its networks grow in training (training.growth).
  [[nodiscard]] bool grows() const { return takes("training.growth.from"); }
  [[nodiscard]] bool takes(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
};

/// All, in the order in which people read them; they stay where they are.
[[nodiscard]] const std::vector<ModelFamily>& families();

inline constexpr std::string_view kOwnFamily = "own";
/// Its name in job files of the time when networks were TorchScript files. Fingerprints keep it, so
/// runs of that time with networks in Python resume.
inline constexpr std::string_view kOwnFamilyBefore = "torchscript";
/// Of a job whose networks are all the user's (docs/python.md): it makes images of any size
/// and has no architecture of its own, so it is not in the table.
[[nodiscard]] const ModelFamily* own_family();

/// @throws ConfigError for a name that none has.
[[nodiscard]] const ModelFamily* family_named(std::string_view name);

/// "dcgan, infogan": the names of those for which `is_meant` holds.
[[nodiscard]] std::string family_names(std::string_view separator,
                                       const std::function<bool(const ModelFamily&)>& is_meant);

/// Generator: "noise" [N, ModelSpec::inputs()] (and "labels" int64 [N]) → images [N, C, H, W],
/// meant to be in [-1, 1], or points [N, 2]; a transformer in training several for each,
/// [N, depths * C, H, W], which its discriminator takes too. Discriminator: "image" of the same
/// shape (and "labels") → logits [N, 1].
/// @pre `model.normalization` is settled (JobSpec::settled_model); the family has the recipe's
/// roles
[[nodiscard]] PerNetwork<Architecture> architectures_of(const ModelSpec& model,
                                                        const Recipe& recipe = *default_recipe());

/// That of the model's family for `role`. @throws InvariantError where it has none
[[nodiscard]] Architecture architecture_of(const ModelSpec& model, std::string_view role);

[[nodiscard]] bool has_role(const ModelFamily& family, std::string_view role);

/// The role of `recipe` for which `family` has no architecture; empty: it has all.
[[nodiscard]] std::string_view missing_role(const ModelFamily& family, const Recipe& recipe);

/// Shape of one generated example: {C, H, W} or {2}.
[[nodiscard]] std::vector<std::int64_t> example_shape(const ModelSpec& model);

}  // namespace gangway
