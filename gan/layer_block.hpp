// SPDX-License-Identifier: MIT
// The block that most networks are made of: a linear map (dense, convolution, transposed
// convolution), an optional BatchNorm, an activation, an optional keyed dropout.
#pragma once

#include <optional>

#include "gan/block.hpp"

namespace gangway::gan {

enum class LayerKind { kLinear, kConvolution, kTransposedConvolution };
enum class ActivationKind { kNone, kRelu, kLeakyRelu, kSoftplus, kTanh };

struct LayerSpec {
  LayerKind kind = LayerKind::kLinear;
  std::int64_t in = 1;  ///< features or channels
  std::int64_t out = 1;
  std::int64_t kernel = 4;  ///< pixels, square
  std::int64_t stride = 2;
  std::int64_t padding = 1;
  bool bias = false;
  bool batch_norm = false;
  ActivationKind activation = ActivationKind::kNone;
  double dropout = 0.0;                        ///< probability, keyed
  std::vector<std::int64_t> input_shape = {};  ///< per example; empty: as it comes
  std::string input = "features";
  std::string output = "features";
  double initial_scale = 0.02;
};

class LayerBlock final : public Block {
 public:
  explicit LayerBlock(LayerSpec spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const LayerSpec& spec() const { return spec_; }

 private:
  [[nodiscard]] at::Tensor apply_linear(const at::Tensor& x) const;
  [[nodiscard]] at::Tensor apply_norm(const at::Tensor& x, const ForwardContext& context) const;
  [[nodiscard]] at::Tensor apply_activation(at::Tensor x) const;

  LayerSpec spec_;
  Parameter* weight_ = nullptr;  // into parameters(); never null
  Parameter* bias_ = nullptr;    // null without bias
  Parameter* norm_weight_ = nullptr;
  Parameter* norm_bias_ = nullptr;
  Statistic* mean_ = nullptr;
  Statistic* variance_ = nullptr;
};

/// Weight of the newest micro-batch statistic in BatchNorm's running values (Ioffe and Szegedy,
/// 2015; PyTorch's default).
inline constexpr double kNormMomentum = 0.1;
/// Added to variances (PyTorch's default).
inline constexpr double kNormEpsilon = 1e-5;
/// Of leaky ReLU below zero (DCGAN, section 3).
inline constexpr double kLeakySlope = 0.2;

}  // namespace gangway::gan
