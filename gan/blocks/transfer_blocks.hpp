// SPDX-License-Identifier: MIT
// Blocks of style transfer: layers of the transforming network, and levels of the feature network.
// All operators are deterministic on GPUs too, and can be differentiated twice. Compute thread
// only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/transfer_specs.hpp"

namespace gangway::gan {

/// Parameters of a convolution and its InstanceNorm.
struct TransferConvolution {
  Parameter* weight;  // never null
  Parameter* bias;    // never null
  Parameter* gain;    // gain and shift: null without a norm
  Parameter* shift;
};

class TransferLayer final : public Block {
 public:
  explicit TransferLayer(const TransferLayerSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const TransferLayerSpec& spec() const { return spec_; }

 private:
  TransferLayerSpec spec_;
  TransferConvolution convolution_;
};

class TransferResidual final : public Block {
 public:
  explicit TransferResidual(const TransferResidualSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  TransferConvolution first_;
  TransferConvolution second_;
};

class FeatureLevel final : public Block {
 public:
  explicit FeatureLevel(const FeatureLevelSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  FeatureLevelSpec spec_;
  Parameter* weight_;
  Parameter* bias_;
};

/// Pads `x` [N, C, H, W] with `pixels` on each side, mirrored at the outermost pixels. @pre pixels
/// is below H and W
[[nodiscard]] at::Tensor reflected(const at::Tensor& x, std::int64_t pixels);

[[nodiscard]] std::unique_ptr<Block> make_block(const TransferLayerSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const TransferResidualSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const FeatureLevelSpec& spec);

}  // namespace gangway::gan
