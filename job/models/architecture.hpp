// SPDX-License-Identifier: MIT
// Networks as values: a list of blocks, each with the tensors that it trains (job/blocks/).
// gan/blocks/build_networks.hpp makes networks of them. Code that needs only sizes, such as the
// memory estimate, counts here. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "job/blocks/label_specs.hpp"
#include "job/blocks/layer_spec.hpp"
#include "job/blocks/library_spec.hpp"
#include "job/blocks/progressive/progressive_specs.hpp"
#include "job/blocks/python_spec.hpp"
#include "job/blocks/residual_specs.hpp"
#include "job/blocks/spectral_specs.hpp"
#include "job/blocks/style_specs.hpp"
#include "job/blocks/transfer_specs.hpp"
#include "job/blocks/transformer_specs.hpp"
#include "job/blocks/translation_specs.hpp"

namespace gangway {

using BlockSpec = std::variant<
    LayerSpec, LabelConcatenationSpec, ProjectionHeadSpec, LabelEmbeddingSpec, LabelProductSpec,
    ResidualSpec, ResamplingSpec, GenerativeBasisSpec, DiscriminativeBasisSpec, PythonSpec,
    TokenStyleSpec, TokenGridSpec, TransformerSpec, PatchPictureSpec, PatchEmbeddingSpec,
    TokenHeadSpec, SpectralStemSpec, SharedEmbeddingSpec, SpectralUpSpec, SpectralPictureSpec,
    SpectralDownSpec, SpectralAttentionSpec, SpectralHeadSpec, SkipSpec, InstanceLayerSpec,
    InstanceResidualSpec, StyleMappingSpec, StyleConstantSpec, StyleLayerSpec, StylePictureSpec,
    StyleImageSpec, StyleHalvingSpec, StyleEpilogueSpec, StyleLabelSpec, LibrarySpec,
    TransferLayerSpec, TransferResidualSpec, FeatureLevelSpec, ProgressiveStartSpec,
    ProgressiveUpSpec, ProgressivePictureSpec, ProgressiveDownSpec, ProgressiveEndSpec>;

struct Architecture {
  std::string name;  ///< "generator"
  std::vector<BlockSpec> blocks;
  /// Tensors of a result with several (level_names); empty: the result is "features".
  std::vector<std::string> levels = {};
  /// Indices of the blocks that stay in fp32 if the network computes in fp16.
  std::vector<std::size_t> fp32_blocks = {};
  bool is_fp32_beside_bf16 = false;  ///< whether these stay in fp32 beside bf16, too
};

/// Returns begin, begin + 1, … below `end`, as in fp32_blocks.
[[nodiscard]] std::vector<std::size_t> blocks_between(std::size_t begin, std::size_t end);

/// Returns the number of trained parameters; for a user's network, as counted by Python.
[[nodiscard]] std::int64_t num_parameters(const Architecture& network);

/// Returns the names of its running statistics, as in its weights: "0/path_length".
[[nodiscard]] std::vector<std::string> statistic_names(const Architecture& network);

/// Returns the user's network; null: it is a family's.
[[nodiscard]] const PythonSpec* python_in(const Architecture& network);

/// Returns whether a dense layer has BatchNorm. Its statistics are over one value per example,
/// while maps have many pixels.
[[nodiscard]] bool normalizes_dense_layers(const Architecture& network);

}  // namespace gangway
