// SPDX-License-Identifier: MIT
// The blocks of GAT (Hyun et al., 2025), for generator and discriminator. A network may be cut at
// each. For what they compute see job/blocks/transformer_specs.hpp. All operators can be
// differentiated twice because penalties need it; fused attention cannot. Compute thread only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/transformer_specs.hpp"

namespace gangway::gan {

/// Added to a mean square before its square root.
inline constexpr double kTokenEpsilon = 1e-6;
inline constexpr double kStyleEpsilon = 1e-8;

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

class TokenStyle final : public TokenBlock {
 public:
  explicit TokenStyle(const TokenStyleSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const TokenStyleSpec& spec() const { return spec_; }

 private:
  TokenStyleSpec spec_;
  Parameter* embedding_;  // null without labels
  LinearMap first_;
  LinearMap second_;
};

class TokenGrid final : public Block {
 public:
  explicit TokenGrid(const TokenGridSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* positions_;
};

class TransformerBlock final : public TokenBlock {
 public:
  explicit TransformerBlock(const TransformerSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const TransformerSpec& spec() const { return spec_; }

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

  TransformerSpec spec_;
  LinearMap style_;  // null without a style; with a style, the four gains are null
  Parameter* before_attention_;
  Parameter* behind_attention_;
  Parameter* before_mlp_;
  Parameter* behind_mlp_;
  LinearMap taken_;  // query, key and value of all heads
  Parameter* query_gain_;
  Parameter* key_gain_;
  LinearMap joined_;
  LinearMap expand_;
  LinearMap contract_;
};

class PatchPicture final : public TokenBlock {
 public:
  explicit PatchPicture(const PatchPictureSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const PatchPictureSpec& spec() const { return spec_; }

 private:
  PatchPictureSpec spec_;
  LinearMap style_;
  LinearMap picture_;
};

class PatchEmbedding final : public TokenBlock {
 public:
  explicit PatchEmbedding(const PatchEmbeddingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const PatchEmbeddingSpec& spec() const { return spec_; }

 private:
  /// Adds noise to pictures of all depths [N, depths * channels, H, W]. The noise is one random
  /// walk from the last depth to the first.
  [[nodiscard]] at::Tensor noised(const at::Tensor& pictures, RandomKey key) const;

  PatchEmbeddingSpec spec_;
  LinearMap patch_;
  Parameter* positions_;
  Parameter* token_;
};

class TokenHead final : public TokenBlock {
 public:
  explicit TokenHead(const TokenHeadSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* before_;
  LinearMap head_;
};

[[nodiscard]] std::unique_ptr<Block> make_block(const TokenStyleSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const TokenGridSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const TransformerSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const PatchPictureSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const PatchEmbeddingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const TokenHeadSpec& spec);

}  // namespace gangway::gan
