// SPDX-License-Identifier: MIT
// The standard block: a linear map (dense, convolution or transposed convolution), an optional
// BatchNorm, an activation, an optional keyed dropout.
#pragma once

#include <memory>
#include <optional>

#include "gan/block.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway::gan {

class LayerBlock final : public Block {
 public:
  explicit LayerBlock(LayerSpec spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const LayerSpec& spec() const { return spec_; }

  /// The three steps of forward(): reshape the input, map it linearly, then normalise and activate.
  /// finish() may change its argument.
  [[nodiscard]] at::Tensor shaped_input(const NamedTensors& in) const;
  [[nodiscard]] at::Tensor map(const at::Tensor& x, const ForwardContext& context) const;
  [[nodiscard]] at::Tensor finish(at::Tensor x, const ForwardContext& context) const;

 private:
  [[nodiscard]] at::Tensor apply_dense(const at::Tensor& x, const ForwardContext& context) const;
  [[nodiscard]] at::Tensor apply_convolution(const at::Tensor& x,
                                             const ForwardContext& context) const;
  [[nodiscard]] at::Tensor apply_norm(const at::Tensor& x, const ForwardContext& context) const;
  /// Applies norm and activation in one function; nullopt if that function does not support them.
  [[nodiscard]] std::optional<at::Tensor> apply_fused(const at::Tensor& x,
                                                      const ForwardContext& context) const;
  [[nodiscard]] at::Tensor apply_activation(at::Tensor x) const;

  LayerSpec spec_;
  Parameter* weight_;       // never null
  Parameter* bias_;         // null without bias
  Parameter* norm_weight_;  // the norm's four: null without BatchNorm
  Parameter* norm_bias_;
  Statistic* mean_;
  Statistic* variance_;
};

/// Added to variances (PyTorch's default).
inline constexpr double kNormEpsilon = 1e-5;
/// Slope of leaky ReLU below zero (DCGAN, section 3).
inline constexpr double kLeakySlope = 0.2;

[[nodiscard]] std::unique_ptr<Block> make_block(const LayerSpec& spec);

}  // namespace gangway::gan
