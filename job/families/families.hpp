// SPDX-License-Identifier: MIT
// Table of the model families that a job may name. Code that depends on the family asks its row;
// CONTRIBUTING.md says how to add one. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"
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
  bool makes_points = false;          ///< of the plane, for toy data; false: images
  bool is_dense = false;              ///< whether model.width counts hidden units
  std::vector<int> resolutions;       ///< pixels a side; the first is the default; empty for points
  bool takes_labels = true;           ///< whether model.classes may be above 0
  bool normalizes_by_default = true;  ///< whether `auto` is batch in the discriminator (no penalty)
  /// Keys of the model and training sections that apply to this family, but not to all.
  std::vector<std::string_view> keys = {"model.normalization", "model.activation", "model.dropout",
                                        "training.orthogonal_weight"};
  /// Whether the generator, in training, makes pictures at several depths, which its discriminator
  /// judges together.
  bool judges_depths = false;
  /// Whether maps are scaled at each use (equalized learning rate, Karras et al., 2018), so that
  /// their initial weights are fixed by the family.
  bool equalizes = false;
  /// Elements of one example's feature maps in one network. Null: maps shrink fourfold and channels
  /// double per level, from `width` channels at half the picture's side.
  std::int64_t (*feature_elements)(const ModelSpec& model) = nullptr;
  int levels = 0;  ///< most maps of its feature network, if it has one
  std::vector<FamilyNetwork> networks;
  [[nodiscard]] bool makes_images() const { return !makes_points; }
  /// Returns whether its networks grow in training (training.growth).
  [[nodiscard]] bool grows() const { return takes("training.growth.from"); }
  [[nodiscard]] bool takes(std::string_view key) const {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
};

/// Returns all families in the order of the documentation. References stay valid.
[[nodiscard]] const std::vector<ModelFamily>& families();

inline constexpr std::string_view kOwnFamily = "own";
/// Its name in job files from the time of TorchScript networks. Fingerprints keep it, so that runs
/// of that time with networks in Python resume.
inline constexpr std::string_view kOwnFamilyBefore = "torchscript";
/// Returns the family of a job whose networks are all the user's (docs/python.md). It makes images
/// of any size and has no architecture, so it is not in the table.
[[nodiscard]] const ModelFamily* own_family();

/// Returns the names of the families for which `is_meant` holds: "dcgan, infogan".
[[nodiscard]] std::string family_names(std::string_view separator,
                                       const std::function<bool(const ModelFamily&)>& is_meant);

/// Returns the family's network for `role`. Generator: "noise" [N, ModelSpec::inputs()] (and
/// "labels" int64 [N]) → images [N, C, H, W], roughly in [-1, 1], or points [N, 2]. A transformer
/// in training makes [N, depths * C, H, W], which its discriminator takes too. Discriminator:
/// "image" of the same shape (and "labels") → logits [N, 1].
/// @pre `model.normalization` is settled (JobSpec::settled_model)
/// @throws InvariantError if the family has no such role
[[nodiscard]] Architecture architecture_of(const ModelSpec& model, std::string_view role);

[[nodiscard]] bool has_role(const ModelFamily& family, std::string_view role);

/// Returns a role of `recipe` for which `family` has no architecture; empty: it has all.
[[nodiscard]] std::string_view missing_role(const ModelFamily& family, const Recipe& recipe);

/// Returns the shape of one generated example: {C, H, W} or {2}.
[[nodiscard]] std::vector<std::int64_t> example_shape(const ModelSpec& model);

}  // namespace gangway
