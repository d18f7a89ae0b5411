// SPDX-License-Identifier: MIT
// Which networks a job trains: its model section as plain values. Standard library alone.
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway {

struct ModelFamily;  // job/families/families.hpp
/// The one that a job has that names none.
[[nodiscard]] const ModelFamily* default_family();

enum class Normalization {
  kAuto,  ///< JobSpec::settled_model has another
  kBatch,
  kNone
};

struct ModelSpec {
  const ModelFamily* family =
      default_family();  ///< a row of the table, or the library's; never null
  int resolution = 32;   ///< pixels a side, of those that the family takes
  int width = 64;        ///< channels next to the image; hidden units where points are made
  int blocks = 2;        ///< residual blocks at each size of the maps, where a family has them
  int patch = 4;         ///< pixels a side of what becomes a token, where a family has tokens
  int levels = 2;        ///< tensors that a feature network makes, where a recipe has one
  /// Pixels a side of the maps behind which pixels look at one another; 0: none.
  int attention = 0;
  int latent = 100;  ///< elements of the noise vector
  /// InfoGAN's latent codes (Chen et al., 2016), which a generator takes behind the noise.
  int codes = 0;       ///< continuous ones
  int categories = 0;  ///< values of the categorical one; 0: there is none
  int channels = 1;    ///< 1 or 3 image channels; points have 2 coordinates
  int classes = 0;  ///< 0: unconditional; else the number of labels the networks are conditioned on
  Normalization normalization = Normalization::kAuto;  ///< of the discriminator
  Activation activation = Activation::kLeakyRelu;      ///< of the discriminator
  double dropout = 0.0;                                ///< of the discriminator's features, keyed
  int mapping_layers = 8;     ///< between noise or label and styles, where a family has styles
  double style_mixing = 0.9;  ///< share of the examples in training that have two styles
  HashedFile library = {};    ///< families of the user's, in C++ (job/library/family_library.hpp)
  bool operator==(const ModelSpec&) const = default;

  [[nodiscard]] bool has_codes() const { return codes + categories > 0; }
  /// Elements of what a generator takes as "noise": the noise, the continuous codes, the
  /// categorical one as one-hot.
  [[nodiscard]] int inputs() const { return latent + codes + categories; }
  [[nodiscard]] bool normalizes_discriminator() const {
    return normalization == Normalization::kBatch;
  }
};

}  // namespace gangway
