// SPDX-License-Identifier: MIT
// The blocks of StyleGAN2's generator (Karras et al., 2020): the mapping, layers and pictures. The
// network may be cut at each. For what they compute see job/blocks/style_specs.hpp. Styles scale a
// convolution's input and output instead of its weights, which is equivalent (section 2.2). So all
// examples share one convolution, with derivatives of any order. Compute thread only.
#pragma once

#include <cstdint>

#include "gan/blocks/equalized_maps.hpp"
#include "gan/blocks/spec_block.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {

class StyleMapping final : public SpecBlock<StyleMappingSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  /// Returns styles [N, features]. @param label  its embedding, or undefined
  [[nodiscard]] at::Tensor mapped(const at::Tensor& noise, const at::Tensor& label) const;
  /// Mixes styles: some examples get a second style from a random layer on.
  [[nodiscard]] at::Tensor mixed(const at::Tensor& styles, const at::Tensor& label,
                                 RandomKey key) const;

  DenseMap embedding_ = dense("embedding");  // null without labels
  Mapping mapping_ = mapping(spec().layers);
};

class StyleConstant final : public SpecBlock<StyleConstantSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* constant_ = parameter("constant");
};

class StyleLayer final : public SpecBlock<StyleLayerSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  [[nodiscard]] at::Tensor convolved(const at::Tensor& x, const at::Tensor& weight) const;
  /// [N or 1, 1, side, side]
  [[nodiscard]] at::Tensor noise(const at::Tensor& like, const ForwardContext& context) const;

  DenseMap factors_ = dense("factors");
  Parameter* weight_ = parameter("weight");
  Parameter* bias_ = parameter("bias");
  Parameter* noise_strength_ = parameter("noise_strength");
  Statistic* stored_noise_ = statistic(kStoredNoise);  // null: the noise is keyed
};

class StylePicture final : public SpecBlock<StylePictureSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  DenseMap factors_ = dense("factors");
  Parameter* weight_ = parameter("weight");
  Parameter* bias_ = parameter("bias");
};

}  // namespace gangway::gan
