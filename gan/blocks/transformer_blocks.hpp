// SPDX-License-Identifier: MIT
// The blocks of GAT (Hyun et al., 2025), for generator and discriminator. A network may be cut at
// each. For what they compute see job/blocks/transformer_specs.hpp. All operators can be
// differentiated twice because penalties need it; fused attention cannot. Compute thread only.
#pragma once

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/blocks/transformer_specs.hpp"

namespace gangway::gan {

/// Base of blocks that find their linear maps by name.
class TokenBlock : public Block {
 protected:
  using Block::Block;
  struct LinearMap {
    Parameter* weight;
    Parameter* bias;
    /// @param rate  factor of weight and bias
    [[nodiscard]] at::Tensor of(const at::Tensor& x, double rate = 1.0) const;
  };
  /// Returns the map of "NAME.weight" and "NAME.bias".
  [[nodiscard]] LinearMap linear(const std::string& name);
};

class TokenStyle final : public SpecBlock<TokenStyleSpec, TokenBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* embedding_ = parameter("embedding");  // null without labels
  LinearMap first_ = linear("first");
  LinearMap second_ = linear("second");
};

class TokenGrid final : public SpecBlock<TokenGridSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* positions_ = parameter("positions");
};

class TransformerBlock final : public SpecBlock<TransformerSpec, TokenBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  /// Factors before and after the attention and the MLP.
  struct Gains {
    at::Tensor before_attention;
    at::Tensor behind_attention;
    at::Tensor before_mlp;
    at::Tensor behind_mlp;
  };
  [[nodiscard]] Gains gains(const NamedTensors& in) const;
  [[nodiscard]] at::Tensor attention(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor mlp(const at::Tensor& x) const;

  // Null without a style; with a style, the four gains are null.
  LinearMap style_ = linear("style");
  Parameter* before_attention_ = parameter("attention.before");
  Parameter* behind_attention_ = parameter("attention.behind");
  Parameter* before_mlp_ = parameter("mlp.before");
  Parameter* behind_mlp_ = parameter("mlp.behind");
  LinearMap taken_ = linear("taken");  // query, key and value of all heads
  Parameter* query_gain_ = parameter("query.gain");
  Parameter* key_gain_ = parameter("key.gain");
  LinearMap joined_ = linear("joined");
  LinearMap expand_ = linear("expand");
  LinearMap contract_ = linear("contract");
};

class PatchPicture final : public SpecBlock<PatchPictureSpec, TokenBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  LinearMap style_ = linear("style");
  LinearMap picture_ = linear("picture");
};

class PatchEmbedding final : public SpecBlock<PatchEmbeddingSpec, TokenBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  /// Adds noise to pictures of all depths [N, depths * channels, H, W]. The noise is one random
  /// walk from the last depth to the first.
  [[nodiscard]] at::Tensor noised(const at::Tensor& pictures, RandomKey key) const;

  LinearMap patch_ = linear("patch");
  Parameter* positions_ = parameter("positions");
  Parameter* token_ = parameter("token");
};

class TokenHead final : public SpecBlock<TokenHeadSpec, TokenBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* before_ = parameter("before");
  LinearMap head_ = linear("head");
};

}  // namespace gangway::gan
