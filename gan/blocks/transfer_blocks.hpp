// SPDX-License-Identifier: MIT
// Blocks of style transfer: layers of the network that changes pictures, and levels of one whose
// features are compared. All of it is deterministic on GPUs too, and can be differentiated twice.
// Compute thread only.
#pragma once

#include <memory>

#include "gan/block.hpp"
#include "job/blocks/transfer_specs.hpp"

namespace gangway::gan {

/// A convolution and InstanceNorm, by name among a block's parameters.
struct TransferConvolution {
  Parameter* weight;  // never null
  Parameter* bias;    // never null
  Parameter* gain;    // these two: null where nothing is normalized
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

/// `x` [N, C, H, W] with `pixels` more on each side: what lies within as a mirror at the outermost
/// pixels shows it. @pre pixels is below H and W
[[nodiscard]] at::Tensor reflected(const at::Tensor& x, std::int64_t pixels);

[[nodiscard]] std::unique_ptr<Block> make_block(const TransferLayerSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const TransferResidualSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const FeatureLevelSpec& spec);

}  // namespace gangway::gan
