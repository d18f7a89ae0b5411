// SPDX-License-Identifier: MIT
// The families of models that a job may name. Everything that depends on the family asks its row;
// CONTRIBUTING.md says how one is added. Pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// A row of the table.
struct ModelFamily {
  std::string_view name;              ///< as job files have it
  std::string_view doc;               ///< half a line for the reference page
  bool makes_points = false;          ///< of the plane, for toy data; else images
  std::vector<int> resolutions;       ///< pixels a side; the first is the default; none of points
  bool takes_labels = true;           ///< whether model.classes may be above 0
  bool normalizes_by_default = true;  ///< whether `auto` is batch in the discriminator (no penalty)
  Architecture (*generator)(const ModelSpec& model) = nullptr;
  Architecture (*discriminator)(const ModelSpec& model) = nullptr;
  [[nodiscard]] bool makes_images() const { return !makes_points; }
};

/// All, in the order in which people read them; they stay where they are.
[[nodiscard]] const std::vector<ModelFamily>& families();

/// @throws ConfigError for a name that none has.
[[nodiscard]] const ModelFamily* family_named(std::string_view name);

/// "dcgan, infogan": the names of those for which `is_meant` holds.
[[nodiscard]] std::string family_names(std::string_view separator,
                                       const std::function<bool(const ModelFamily&)>& is_meant);

struct Architectures {
  Architecture generator;
  Architecture discriminator;
};

/// Generator: "noise" [N, latent] (and "labels" int64 [N]) → images [N, C, H, W] in [-1, 1] or
/// points [N, 2]. Discriminator: "image" of the same shape (and "labels") → logits [N, 1].
/// @pre `model.normalization` is settled (JobSpec::settled_model).
[[nodiscard]] Architectures architectures_of(const ModelSpec& model);

/// Shape of one generated example: {C, H, W} or {2}.
[[nodiscard]] std::vector<std::int64_t> example_shape(const ModelSpec& model);

}  // namespace gangway
