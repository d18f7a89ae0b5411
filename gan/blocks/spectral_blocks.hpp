// SPDX-License-Identifier: MIT
// The blocks of BigGAN (Brock et al., 2019): residual blocks, attention, and the ends of networks,
// with spectral norm. For what they compute see job/blocks/spectral_specs.hpp. All operators can be
// differentiated twice and sum gradients in one order on every device. Compute thread only.
#pragma once

#include <memory>
#include <string>

#include "gan/block.hpp"
#include "job/blocks/spectral_specs.hpp"

namespace gangway::gan {

/// Lower bound of a length before division.
inline constexpr double kSpectralFloor = 1e-12;

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
  Map shortcut_;  // weight is null if size and channels stay
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
  Map embedding_;  // weight is null without labels
};

[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralStemSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SharedEmbeddingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralUpSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralPictureSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralDownSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralAttentionSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const SpectralHeadSpec& spec);

}  // namespace gangway::gan
