// SPDX-License-Identifier: MIT
// The blocks of StyleGAN2's generator (Karras et al., 2020): the mapping, layers and pictures. The
// network may be cut at each. For what they compute see job/blocks/style_specs.hpp. Styles scale a
// convolution's input and output instead of its weights, which is equivalent (section 2.2). So all
// examples share one convolution, with derivatives of any order. Compute thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "gan/block.hpp"
#include "gan/blocks/equalized_maps.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {

class StyleMapping final : public EqualizedBlock {
 public:
  explicit StyleMapping(const StyleMappingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleMappingSpec& spec() const { return spec_; }

 private:
  /// Returns styles [N, features]. @param label  its embedding, or undefined
  [[nodiscard]] at::Tensor mapped(const at::Tensor& noise, const at::Tensor& label) const;
  /// Mixes styles: some examples get a second style from a random layer on.
  [[nodiscard]] at::Tensor mixed(const at::Tensor& styles, const at::Tensor& label,
                                 RandomKey key) const;

  StyleMappingSpec spec_;
  DenseMap embedding_;  // null without labels
  Mapping mapping_;
};

class StyleConstant final : public Block {
 public:
  explicit StyleConstant(const StyleConstantSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* constant_;
};

class StyleLayer final : public EqualizedBlock {
 public:
  explicit StyleLayer(const StyleLayerSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StyleLayerSpec& spec() const { return spec_; }

  /// Returns the noise that evaluation adds, for block number `block` of its network: float32 [1,
  /// 1, side, side].
  [[nodiscard]] at::Tensor constant_noise(std::int32_t block, at::Device device) const;

 private:
  [[nodiscard]] at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight) const;
  /// [N or 1, 1, side, side]
  [[nodiscard]] at::Tensor noise(const at::Tensor& like, const ForwardContext& context) const;

  StyleLayerSpec spec_;
  DenseMap factors_;
  Parameter* weight_;
  Parameter* bias_;
  Parameter* noise_strength_;
};

class StylePicture final : public EqualizedBlock {
 public:
  explicit StylePicture(const StylePictureSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const StylePictureSpec& spec() const { return spec_; }

 private:
  StylePictureSpec spec_;
  DenseMap factors_;
  Parameter* weight_;
  Parameter* bias_;
};

[[nodiscard]] std::unique_ptr<Block> make_block(const StyleMappingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StyleConstantSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StyleLayerSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const StylePictureSpec& spec);

}  // namespace gangway::gan
