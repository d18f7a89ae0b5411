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

/// How the generator's BatchNorms are told the label.
enum class Conditioning {
  kHierarchical,  ///< by an embedding that all share, beside a piece of the noise for each block
  kShared,        ///< by the shared embedding alone; all noise is the first layer's
  kSeparate,      ///< by embeddings of their own; all noise is the first layer's
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
  /// Whether the discriminator's are behind each of its blocks, whatever their side.
  bool attends_everywhere = false;
  int latent = 100;  ///< elements of the noise vector
  /// InfoGAN's latent codes (Chen et al., 2016), which a generator takes behind the noise.
  int codes = 0;       ///< continuous ones
  int categories = 0;  ///< values of the categorical one; 0: there is none
  int channels = 1;    ///< 1 or 3 image channels; points have 2 coordinates
  int classes = 0;  ///< 0: unconditional; else the number of labels the networks are conditioned on
  Normalization normalization = Normalization::kAuto;  ///< of the discriminator
  Activation activation = Activation::kLeakyRelu;      ///< of the discriminator
  double dropout = 0.0;                                ///< of the discriminator's features, keyed
  int mapping_layers = 8;  ///< between noise or label and styles, where a family has styles
  /// The same of the discriminator; 0: as many as `mapping_layers`.
  int discriminator_mapping_layers = 0;
  double style_mixing = 0.9;  ///< share of the examples in training that have two styles
  int deviation_group = 4;    ///< examples that a discriminator compares by their deviation
  bool is_residual = true;    ///< whether StyleGAN2's discriminator has skips around its blocks
  /// Pixels a side of the largest maps that have as many channels as the smallest, where a family
  /// halves them above.
  int widest_side = 32;
  /// Of the sizes of maps, how many of the highest compute in 16 bits where a network does; 0: as
  /// the family has it.
  int half_precision_sizes = 0;
  Conditioning conditioning = Conditioning::kHierarchical;
  HashedFile library = {};  ///< families of the user's, in C++ (job/library/family_library.hpp)
  bool operator==(const ModelSpec&) const = default;

  [[nodiscard]] bool has_codes() const { return codes + categories > 0; }
  /// Elements of what a generator takes as "noise": the noise, the continuous codes, the
  /// categorical one as one-hot.
  [[nodiscard]] int inputs() const { return latent + codes + categories; }
  [[nodiscard]] int label_layers() const {
    return discriminator_mapping_layers > 0 ? discriminator_mapping_layers : mapping_layers;
  }
  [[nodiscard]] bool normalizes_discriminator() const {
    return normalization == Normalization::kBatch;
  }
};

}  // namespace gangway
