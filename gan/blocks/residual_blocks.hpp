// SPDX-License-Identifier: MIT
// The blocks of R3GAN (Huang et al., 2024). A network may be cut at each. For what they compute see
// job/blocks/residual_specs.hpp. Compute thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "gan/block.hpp"
#include "job/blocks/residual_specs.hpp"

namespace gangway::gan {

/// Resample maps [N, C, H, W] with [1, 3, 3, 1]: sides doubled, halved, or larger by 2 * padding -
/// 3. Derivatives of any order.
/// @param padding  1 or 2 pixels of zeros a side  @param factor  of the output
[[nodiscard]] at::Tensor upsampled(const at::Tensor& x);
[[nodiscard]] at::Tensor downsampled(const at::Tensor& x);
[[nodiscard]] at::Tensor smoothed(const at::Tensor& x, std::int64_t padding, double factor = 1.0);

class ResidualBlock final : public Block {
 public:
  explicit ResidualBlock(const ResidualSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ResidualSpec& spec() const { return spec_; }

 private:
  ResidualSpec spec_;
  Parameter* expand_weight_;
  Parameter* expand_bias_;
  Parameter* grouped_weight_;
  Parameter* grouped_bias_;
  Parameter* contract_weight_;
};

class ResamplingBlock final : public Block {
 public:
  explicit ResamplingBlock(const ResamplingSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ResamplingSpec& spec() const { return spec_; }

 private:
  [[nodiscard]] at::Tensor with_channels(const at::Tensor& x) const;

  ResamplingSpec spec_;
  Parameter* weight_;  // null if the number of channels stays
};

class GenerativeBasis final : public Block {
 public:
  explicit GenerativeBasis(const GenerativeBasisSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const GenerativeBasisSpec& spec() const { return spec_; }

 private:
  GenerativeBasisSpec spec_;
  Parameter* basis_;
  Parameter* weight_;
};

class DiscriminativeBasis final : public Block {
 public:
  explicit DiscriminativeBasis(const DiscriminativeBasisSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const DiscriminativeBasisSpec& spec() const { return spec_; }

 private:
  DiscriminativeBasisSpec spec_;
  Parameter* basis_;
  Parameter* weight_;
};

[[nodiscard]] std::unique_ptr<Block> make_block(const ResidualSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ResamplingSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const GenerativeBasisSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const DiscriminativeBasisSpec& spec);

}  // namespace gangway::gan
