// SPDX-License-Identifier: MIT
// Blocks of style transfer: layers of the transforming network, and levels of the feature network.
// All operators are deterministic on GPUs too, and can be differentiated twice. Compute thread
// only.
#pragma once

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/transfer_specs.hpp"

namespace gangway::gan {

/// Parameters of a convolution and its InstanceNorm.
struct TransferConvolution {
  Parameter* weight;  // never null
  Parameter* bias;    // never null
  Parameter* gain;    // gain and shift: null without a norm
  Parameter* shift;
};

class TransferLayer final : public SpecBlock<TransferLayerSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  TransferConvolution convolution_{parameter("weight"), parameter("bias"), parameter("norm.weight"),
                                   parameter("norm.bias")};
};

class TransferResidual final : public SpecBlock<TransferResidualSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  TransferConvolution first_{parameter("first.weight"), parameter("first.bias"),
                             parameter("first_norm.weight"), parameter("first_norm.bias")};
  TransferConvolution second_{parameter("second.weight"), parameter("second.bias"),
                              parameter("second_norm.weight"), parameter("second_norm.bias")};
};

class FeatureLevel final : public SpecBlock<FeatureLevelSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* weight_ = parameter("weight");
  Parameter* bias_ = parameter("bias");
};

/// Pads `x` [N, C, H, W] with `pixels` on each side, mirrored at the outermost pixels. @pre pixels
/// is below H and W
[[nodiscard]] at::Tensor reflected(const at::Tensor& x, std::int64_t pixels);

}  // namespace gangway::gan
