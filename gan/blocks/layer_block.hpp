// SPDX-License-Identifier: MIT
// The standard block: a linear map (dense, convolution or transposed convolution), an optional
// BatchNorm, an activation, an optional keyed dropout.
#pragma once

#include <optional>

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway::gan {

class LayerBlock final : public SpecBlock<LayerSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

  /// The three steps of forward(): reshape the input, map it linearly, then normalise and activate.
  /// finish() may change its argument.
  [[nodiscard]] at::Tensor shaped_input(const NamedTensors& in) const;
  [[nodiscard]] at::Tensor map(const at::Tensor& x, const ForwardContext& context) const;
  [[nodiscard]] at::Tensor finish(at::Tensor x, const ForwardContext& context) const;

 private:
  [[nodiscard]] at::Tensor apply_norm(const at::Tensor& x, const ForwardContext& context) const;
  /// Applies norm and activation in one function; nullopt if that function does not support them.
  [[nodiscard]] std::optional<at::Tensor> apply_fused(const at::Tensor& x,
                                                      const ForwardContext& context) const;
  [[nodiscard]] at::Tensor apply_activation(at::Tensor x) const;

  Parameter* weight_ = parameter("weight");            // never null
  Parameter* bias_ = parameter("bias");                // null without bias
  Parameter* norm_weight_ = parameter("norm.weight");  // the norm's four: null without BatchNorm
  Parameter* norm_bias_ = parameter("norm.bias");
  Statistic* mean_ = statistic("norm.running_mean");
  Statistic* variance_ = statistic("norm.running_var");
};

}  // namespace gangway::gan
