// SPDX-License-Identifier: MIT
// The blocks of R3GAN (Huang et al., 2024). A network may be cut at each. For what they compute see
// job/blocks/residual_specs.hpp. Compute thread only.
#pragma once

#include <cstdint>

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/residual_specs.hpp"

namespace gangway::gan {

/// Resample maps [N, C, H, W] with [1, 3, 3, 1]: sides doubled, halved, or larger by 2 * padding -
/// 3. Derivatives of any order.
/// @param padding  1 or 2 pixels of zeros a side  @param factor  of the output
[[nodiscard]] at::Tensor upsampled(const at::Tensor& x);
[[nodiscard]] at::Tensor downsampled(const at::Tensor& x);
[[nodiscard]] at::Tensor smoothed(const at::Tensor& x, std::int64_t padding, double factor = 1.0);

class ResidualBlock final : public SpecBlock<ResidualSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* expand_weight_ = parameter("expand.weight");
  Parameter* expand_bias_ = parameter("expand.bias");
  Parameter* grouped_weight_ = parameter("grouped.weight");
  Parameter* grouped_bias_ = parameter("grouped.bias");
  Parameter* contract_weight_ = parameter("contract.weight");
};

class ResamplingBlock final : public SpecBlock<ResamplingSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  [[nodiscard]] at::Tensor with_channels(const at::Tensor& x) const;

  Parameter* weight_ = parameter("weight");  // null if the number of channels stays
};

class GenerativeBasis final : public SpecBlock<GenerativeBasisSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* basis_ = parameter("basis");
  Parameter* weight_ = parameter("weight");
};

class DiscriminativeBasis final : public SpecBlock<DiscriminativeBasisSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Parameter* basis_ = parameter("basis");
  Parameter* weight_ = parameter("weight");
};

}  // namespace gangway::gan
