// SPDX-License-Identifier: MIT
// The blocks of BigGAN (Brock et al., 2019): residual blocks, attention and ends of networks whose
// maps are divided by their spectral norms. What they compute is said where they are described:
// job/blocks/spectral_specs.hpp. Of operators alone that can be differentiated twice, and whose
// gradients every device adds in one order. Compute thread only.
#pragma once

#include <memory>
#include <string>

#include "gan/block.hpp"
#include "job/blocks/spectral_specs.hpp"

namespace gangway::gan {

/// Least length that is divided by.
inline constexpr double kSpectralFloor = 1e-12;

/// A block with maps under spectral norm, by name.
class SpectralBlock : public Block {
 protected:
  using Block::Block;
  struct Map {
    Parameter* weight;
    Parameter* bias;       // null without one
    Statistic* direction;  // left singular vector, as long as one or so
    /// Over its spectral norm as one power iteration from `direction` has it. Its gradient is that
    /// of sigma = u^T W v where u and v stay (Miyato et al., 2018, eq. 12). What the iteration
    /// comes to is the next `direction`: it follows from weights alone, so every pass and every
    /// micro-batch of an update sees the same bits.
    [[nodiscard]] at::Tensor normalized(const ForwardContext& context) const;
    [[nodiscard]] at::Tensor linear(const at::Tensor& x, const ForwardContext& context) const;
    /// A convolution that keeps the sides.
    [[nodiscard]] at::Tensor convolution(const at::Tensor& x, const ForwardContext& context) const;

   private:
    [[nodiscard]] std::optional<at::Tensor> added() const;
  };
  /// Of "NAME.weight".
  [[nodiscard]] Map map(const std::string& name);

  /// BatchNorm, whose gains and shifts are maps or embeddings of a condition, or weights where
  /// there is none.
  struct Norm {
    Map gain;
    Map shift;
    Parameter* gains;  // embeddings [classes, C]; null: there are none
    Parameter* shifts;
    Parameter* weight;
    Parameter* bias;
    Statistic* mean;
    Statistic* variance;
    /// @param condition  [N, features], or the labels [N]; undefined: there is none
    [[nodiscard]] at::Tensor of(const at::Tensor& x, const at::Tensor& condition,
                                const ForwardContext& context) const;

   private:
    [[nodiscard]] at::Tensor plain(const at::Tensor& x, const ForwardContext& context) const;
  };
  [[nodiscard]] Norm norm(const std::string& name);
};

class SpectralStem final : public SpectralBlock {
 public:
  explicit SpectralStem(const SpectralStemSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SpectralStemSpec& spec() const { return spec_; }

 private:
  SpectralStemSpec spec_;
  Map linear_;
};

class SharedEmbedding final : public Block {
 public:
  explicit SharedEmbedding(const SharedEmbeddingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SharedEmbeddingSpec& spec() const { return spec_; }

 private:
  SharedEmbeddingSpec spec_;
  Parameter* embedding_;
};

class SpectralUp final : public SpectralBlock {
 public:
  explicit SpectralUp(const SpectralUpSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SpectralUpSpec& spec() const { return spec_; }

 private:
  SpectralUpSpec spec_;
  Norm first_norm_;
  Map first_;
  Norm second_norm_;
  Map second_;
  Map shortcut_;
};

class SpectralPicture final : public SpectralBlock {
 public:
  explicit SpectralPicture(const SpectralPictureSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Norm norm_;
  Map picture_;
};

class SpectralDown final : public SpectralBlock {
 public:
  explicit SpectralDown(const SpectralDownSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SpectralDownSpec& spec() const { return spec_; }

 private:
  SpectralDownSpec spec_;
  Map first_;
  Map second_;
  Map shortcut_;  // its weight is null where sides and channels stay
};

class SpectralAttention final : public SpectralBlock {
 public:
  explicit SpectralAttention(const SpectralAttentionSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Map query_;
  Map key_;
  Map value_;
  Map joined_;
  Parameter* gain_;
};

class SpectralHead final : public SpectralBlock {
 public:
  explicit SpectralHead(const SpectralHeadSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const SpectralHeadSpec& spec() const { return spec_; }

 private:
  SpectralHeadSpec spec_;
  Map linear_;
  Map embedding_;  // its weight is null without labels
};

[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralStemSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SharedEmbeddingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralUpSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralPictureSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralDownSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralAttentionSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralHeadSpec& spec);

}  // namespace gangway::gan
