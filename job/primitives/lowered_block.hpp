// SPDX-License-Identifier: MIT
// A block while primitives_of() writes its primitives, and the functions that do so: one for each
// kind of block, in a file for each family. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "job/models/architecture.hpp"
#include "job/primitives/graph_builder.hpp"

namespace gangway::primitives {

class LoweredBlock {
 public:
  /// @param live  tensors that earlier blocks made, by name
  LoweredBlock(GraphBuilder& builder, std::map<std::string, Tensor>& live, BlockTensors tensors,
               std::size_t index, double growth, const TensorValues& values)
      : builder_(builder),
        live_(live),
        tensors_(std::move(tensors)),
        index_(index),
        growth_(growth),
        values_(values) {}

  [[nodiscard]] GraphBuilder& builder() const { return builder_; }
  [[nodiscard]] double growth() const { return growth_; }
  [[nodiscard]] const Tensor& in(const std::string& name) const { return live_.at(name); }
  void out(const std::string& name, const Tensor& tensor) { live_.insert_or_assign(name, tensor); }

  /// Returns a trained tensor or running statistic as a constant.
  /// @throws InvariantError if the block has none of that name
  [[nodiscard]] Tensor tensor(const std::string& name) const;
  /// Same, or nothing.
  [[nodiscard]] std::optional<Tensor> find_tensor(const std::string& name) const;
  [[nodiscard]] Tensor constant_noise(std::int64_t side) const;

 private:
  [[nodiscard]] Tensor constant(const std::string& name, const Shape& shape) const;

  GraphBuilder& builder_;
  std::map<std::string, Tensor>& live_;
  BlockTensors tensors_;
  std::size_t index_;
  double growth_;
  const TensorValues& values_;
};

// job/primitives/lowered_layers.cpp
void lower(const LayerSpec& spec, LoweredBlock& block);
void lower(const LabelConcatenationSpec& spec, LoweredBlock& block);
void lower(const ProjectionHeadSpec& spec, LoweredBlock& block);
void lower(const LabelEmbeddingSpec& spec, LoweredBlock& block);
void lower(const LabelProductSpec& spec, LoweredBlock& block);
void lower(const ResidualSpec& spec, LoweredBlock& block);
void lower(const ResamplingSpec& spec, LoweredBlock& block);
void lower(const GenerativeBasisSpec& spec, LoweredBlock& block);
void lower(const DiscriminativeBasisSpec& spec, LoweredBlock& block);
void lower(const PythonSpec& spec, LoweredBlock& block);
void lower(const LibrarySpec& spec, LoweredBlock& block);

// job/primitives/lowered_translators.cpp
void lower(const SkipSpec& spec, LoweredBlock& block);
void lower(const InstanceLayerSpec& spec, LoweredBlock& block);
void lower(const InstanceResidualSpec& spec, LoweredBlock& block);
void lower(const TransferLayerSpec& spec, LoweredBlock& block);
void lower(const TransferResidualSpec& spec, LoweredBlock& block);
void lower(const FeatureLevelSpec& spec, LoweredBlock& block);

// job/primitives/lowered_transformer.cpp
void lower(const TokenStyleSpec& spec, LoweredBlock& block);
void lower(const TokenGridSpec& spec, LoweredBlock& block);
void lower(const TransformerSpec& spec, LoweredBlock& block);
void lower(const PatchPictureSpec& spec, LoweredBlock& block);
void lower(const PatchEmbeddingSpec& spec, LoweredBlock& block);
void lower(const TokenHeadSpec& spec, LoweredBlock& block);

// job/primitives/lowered_spectral.cpp
void lower(const SpectralStemSpec& spec, LoweredBlock& block);
void lower(const SharedEmbeddingSpec& spec, LoweredBlock& block);
void lower(const SpectralUpSpec& spec, LoweredBlock& block);
void lower(const SpectralPictureSpec& spec, LoweredBlock& block);
void lower(const SpectralDownSpec& spec, LoweredBlock& block);
void lower(const SpectralAttentionSpec& spec, LoweredBlock& block);
void lower(const SpectralHeadSpec& spec, LoweredBlock& block);

// job/primitives/lowered_style.cpp
void lower(const StyleMappingSpec& spec, LoweredBlock& block);
void lower(const StyleConstantSpec& spec, LoweredBlock& block);
void lower(const StyleLayerSpec& spec, LoweredBlock& block);
void lower(const StylePictureSpec& spec, LoweredBlock& block);
void lower(const StyleImageSpec& spec, LoweredBlock& block);
void lower(const StyleHalvingSpec& spec, LoweredBlock& block);
void lower(const StyleEpilogueSpec& spec, LoweredBlock& block);
void lower(const StyleLabelSpec& spec, LoweredBlock& block);

// job/primitives/lowered_progressive.cpp
void lower(const ProgressiveStartSpec& spec, LoweredBlock& block);
void lower(const ProgressiveUpSpec& spec, LoweredBlock& block);
void lower(const ProgressivePictureSpec& spec, LoweredBlock& block);
void lower(const ProgressiveDownSpec& spec, LoweredBlock& block);
void lower(const ProgressiveEndSpec& spec, LoweredBlock& block);

}  // namespace gangway::primitives
