// SPDX-License-Identifier: MIT
// The networks that a job trains: its model section as plain values. Standard library alone.
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/hashed_file.hpp"

namespace gangway {

struct ModelFamily;  // job/families/families.hpp
/// Returns the family of a job that names none.
[[nodiscard]] const ModelFamily* default_family();

enum class Normalization {
  kAuto,  ///< replaced by JobSpec::settled_model
  kBatch,
  kNone
};

/// How the generator's BatchNorms get the label.
enum class Conditioning {
  kHierarchical,  ///< an embedding shared by all, and a piece of the noise for each block
  kShared,        ///< the shared embedding alone; all noise goes to the first layer
  kSeparate,      ///< an embedding each; all noise goes to the first layer
};

struct ModelSpec {
  const ModelFamily* family =
      default_family();  ///< a row of the table or of the library; never null
  int resolution = 32;   ///< pixels a side; one of the family's
  int width = 64;        ///< channels next to the image; hidden units of dense families
  int blocks = 2;        ///< residual blocks per size of the maps, if a family has them
  int patch = 4;         ///< pixels a side of a token, if a family has tokens
  int levels = 2;        ///< tensors of a feature network, if a recipe has one
  /// Side, in pixels, of the maps behind which attention follows; 0: none.
  int attention = 0;
  /// Whether the discriminator has attention behind each of its blocks, at any size.
  bool attends_everywhere = false;
  int latent = 100;  ///< elements of the noise vector
  /// InfoGAN's latent codes (Chen et al., 2016), which follow the noise in a generator's input.
  int codes = 0;       ///< continuous codes
  int categories = 0;  ///< values of the categorical code; 0: none
  int channels = 1;    ///< 1 or 3 image channels; points have 2 coordinates
  int classes = 0;     ///< labels that the networks are conditioned on; 0: unconditional
  Normalization normalization = Normalization::kAuto;  ///< of the discriminator
  Activation activation = Activation::kLeakyRelu;      ///< of the discriminator
  double dropout = 0.0;                                ///< of the discriminator's features, keyed
  int mapping_layers = 8;  ///< of the style mapping, if a family has styles
  /// Layers of the discriminator's mapping; 0: as many as `mapping_layers`.
  int discriminator_mapping_layers = 0;
  double style_mixing = 0.9;  ///< share of training examples with two styles
  /// Whether the constant noise of StyleGAN2's layers is in the checkpoint; else it is keyed.
  bool stores_noise = false;
  int deviation_group = 4;  ///< examples whose deviation a discriminator sees as one group
  bool is_residual = true;  ///< whether StyleGAN2's discriminator has residual blocks
  /// Side, in pixels, of the largest maps with the most channels, if a family halves the channels
  /// above.
  int widest_side = 32;
  /// Number of the highest map sizes that compute in 16 bits if the network does; 0: as the family
  /// has it.
  int half_precision_sizes = 0;
  Conditioning conditioning = Conditioning::kHierarchical;
  HashedFile library = {};  ///< the user's families, in C++ (job/library/family_library.hpp)
  bool operator==(const ModelSpec&) const = default;

  [[nodiscard]] bool has_codes() const { return codes + categories > 0; }
  /// Returns the elements of a generator's "noise": the noise, the continuous codes, and the
  /// categorical code as one-hot.
  [[nodiscard]] int inputs() const { return latent + codes + categories; }
  [[nodiscard]] int label_layers() const {
    return discriminator_mapping_layers > 0 ? discriminator_mapping_layers : mapping_layers;
  }
  [[nodiscard]] bool normalizes_discriminator() const {
    return normalization == Normalization::kBatch;
  }
};

}  // namespace gangway
