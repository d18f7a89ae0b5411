// SPDX-License-Identifier: MIT
// The blocks of BigGAN (Brock et al., 2019): residual blocks, attention, and the ends of networks,
// with spectral norm. For what they compute see job/blocks/spectral_specs.hpp. All operators can be
// differentiated twice and sum gradients in one order on every device. Compute thread only.
#pragma once

#include <string>

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/blocks/spectral_specs.hpp"

namespace gangway::gan {

/// Base of blocks that find their maps with spectral norm by name.
class SpectralBlock : public Block {
 protected:
  using Block::Block;
  struct Map {
    Parameter* weight;
    Parameter* bias;       // null if there is none
    Statistic* direction;  // left singular vector, of length about 1
    /// Returns the weight over its spectral norm, estimated by one power iteration from
    /// `direction`. Its gradient is that of sigma = u^T W v with constant u and v (Miyato et al.,
    /// 2018, eq. 12). The iteration's result is the next `direction`. It depends on weights only,
    /// so all passes and micro-batches of an update see the same bits.
    [[nodiscard]] at::Tensor normalized(const ForwardContext& context) const;
    [[nodiscard]] at::Tensor linear(const at::Tensor& x, const ForwardContext& context) const;
    /// Applies the map as a convolution that keeps height and width.
    [[nodiscard]] at::Tensor convolution(const at::Tensor& x, const ForwardContext& context) const;

   private:
    [[nodiscard]] std::optional<at::Tensor> added() const;
  };
  /// Returns the map of "NAME.weight".
  [[nodiscard]] Map map(const std::string& name);

  /// BatchNorm with conditional gains and shifts: maps or embeddings of the condition. Without a
  /// condition they are plain weights.
  struct Norm {
    Map gain;
    Map shift;
    Parameter* gains;  // embeddings [classes, C], or null
    Parameter* shifts;
    Parameter* weight;
    Parameter* bias;
    Statistic* mean;
    Statistic* variance;
    /// @param condition  [N, features], or labels [N]; undefined: none
    [[nodiscard]] at::Tensor of(const at::Tensor& x, const at::Tensor& condition,
                                const ForwardContext& context) const;

   private:
    [[nodiscard]] at::Tensor plain(const at::Tensor& x, const ForwardContext& context) const;
  };
  [[nodiscard]] Norm norm(const std::string& name);
};

class SpectralStem final : public SpecBlock<SpectralStemSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Map linear_ = map("linear");
};

class SharedEmbedding final : public SpecBlock<SharedEmbeddingSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* embedding_ = parameter("embedding");
};

class SpectralUp final : public SpecBlock<SpectralUpSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Norm first_norm_ = norm("first_norm");
  Map first_ = map("first");
  Norm second_norm_ = norm("second_norm");
  Map second_ = map("second");
  Map shortcut_ = map("shortcut");
};

class SpectralPicture final : public SpecBlock<SpectralPictureSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Norm norm_ = norm("norm");
  Map picture_ = map("picture");
};

class SpectralDown final : public SpecBlock<SpectralDownSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Map first_ = map("first");
  Map second_ = map("second");
  Map shortcut_ = map("shortcut");  // weight is null if size and channels stay
};

class SpectralAttention final : public SpecBlock<SpectralAttentionSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Map query_ = map("query");
  Map key_ = map("key");
  Map value_ = map("value");
  Map joined_ = map("joined");
  Parameter* gain_ = parameter("gain");
};

class SpectralHead final : public SpecBlock<SpectralHeadSpec, SpectralBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Map linear_ = map("linear");
  Map embedding_ = map("embedding");  // weight is null without labels
};

}  // namespace gangway::gan
