// SPDX-License-Identifier: MIT
// Networks as values: a list of blocks, each with the tensors that it trains (job/blocks/).
// gan/blocks/build_networks.hpp makes networks of them; what needs sizes alone, such as the
// estimate of memory, counts here. Pure.
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
  /// Tensors that are its result, where it makes several: level_names. Else "features" is.
  std::vector<std::string> levels = {};
  /// Numbers of the blocks that compute in fp32 where the job has the network compute in fp16.
  std::vector<std::size_t> fp32_blocks = {};
  bool is_fp32_beside_bf16 = false;  ///< whether these do where it computes in bf16, too
};

/// begin, begin + 1, … below `end`, as in fp32_blocks.
[[nodiscard]] std::vector<std::size_t> blocks_between(std::size_t begin, std::size_t end);

/// Trained numbers; of a user's network as many as were counted.
[[nodiscard]] std::int64_t num_parameters(const Architecture& network);

/// Names of its running statistics, as its weights have them: "0/path_length".
[[nodiscard]] std::vector<std::string> statistic_names(const Architecture& network);

/// The user's network that it is; null: a family's.
[[nodiscard]] const PythonSpec* python_in(const Architecture& network);

/// Whether a dense layer is batch-normalized: it has one value an example to take statistics over,
/// where maps have many pixels.
[[nodiscard]] bool normalizes_dense_layers(const Architecture& network);

}  // namespace gangway
