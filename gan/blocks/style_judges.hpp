// SPDX-License-Identifier: MIT
// The blocks of StyleGAN2's discriminator (Karras et al., 2020). It may be cut at each. For what
// they compute see job/blocks/style_specs.hpp. Compute thread only.
#pragma once

#include <cstdint>

#include "gan/blocks/equalized_maps.hpp"
#include "gan/blocks/spec_block.hpp"
#include "job/blocks/style_specs.hpp"

namespace gangway::gan {

class StyleImage final : public SpecBlock<StyleImageSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* weight_ = parameter("weight");
  Parameter* bias_ = parameter("bias");
};

class StyleHalving final : public SpecBlock<StyleHalvingSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* first_weight_ = parameter("first.weight");
  Parameter* first_bias_ = parameter("first.bias");
  Parameter* second_weight_ = parameter("second.weight");
  Parameter* second_bias_ = parameter("second.bias");
  Parameter* skip_weight_ = parameter("skip.weight");  // null without a skip
};

class StyleEpilogue final : public SpecBlock<StyleEpilogueSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* weight_ = parameter("convolution.weight");
  Parameter* bias_ = parameter("convolution.bias");
  DenseMap dense_ = dense("dense");
  DenseMap head_ = dense("head");
};

class StyleLabel final : public SpecBlock<StyleLabelSpec, EqualizedBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  DenseMap embedding_ = dense("embedding");
  Mapping mapping_ = mapping(spec().layers);
};

/// Returns the group size for minibatch deviation: the largest divisor of `count` up to `most`.
[[nodiscard]] std::int64_t deviation_group(std::int64_t count, std::int64_t most);

}  // namespace gangway::gan
