// SPDX-License-Identifier: MIT
// Blocks of progressive growing (Karras et al., 2018), one for each resolution. A network may be
// cut at each. For what they compute see job/blocks/progressive/progressive_specs.hpp. The context
// holds the growth; a block that is not active yet passes its inputs on, and its weights get no
// gradient. All operators can be differentiated twice because penalties need it. Compute thread
// only.
#pragma once

#include <string>

#include "gan/blocks/spec_block.hpp"
#include "job/blocks/block_constants.hpp"
#include "job/blocks/progressive/progressive_specs.hpp"

namespace gangway::gan {

/// Returns the factor for a layer's weights at each use: `gain` / sqrt(inputs of one output).
/// @param weight  [out, …]
[[nodiscard]] double equalised_scale(const at::Tensor& weight, double gain);

/// Base of blocks that find their equalised layers by name.
class ProgressiveBlock : public Block {
 protected:
  using Block::Block;
  struct Layer {
    Parameter* weight;
    Parameter* bias;
    [[nodiscard]] at::Tensor linear(const at::Tensor& x, double gain) const;
    /// @param padding  pixels
    [[nodiscard]] at::Tensor convolution(const at::Tensor& x, double gain,
                                         std::int64_t padding) const;
  };
  /// Returns the layer of "NAME.weight" and "NAME.bias".
  [[nodiscard]] Layer layer(const std::string& name);
};

class ProgressiveStart final : public SpecBlock<ProgressiveStartSpec, ProgressiveBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Layer first_ = layer("first");
  Layer second_ = layer("second");
  Layer picture_ = layer("picture");
};

class ProgressiveUp final : public SpecBlock<ProgressiveUpSpec, ProgressiveBlock> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Layer first_ = layer("first");
  Layer second_ = layer("second");
  Layer picture_ = layer("picture");
};

class ProgressivePicture final : public SpecBlock<ProgressivePictureSpec> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
};

/// Base of a discriminator's blocks, which may take the picture as input.
class ProgressiveJudge : public ProgressiveBlock {
 protected:
  using ProgressiveBlock::ProgressiveBlock;
  /// Returns the block's input: the finer block's output, the picture, or a mix of both.
  [[nodiscard]] at::Tensor incoming(const NamedTensors& in, const GrowingPart& place,
                                    double growth) const;

 private:
  Layer picture_ = layer("picture");
};

class ProgressiveDown final : public SpecBlock<ProgressiveDownSpec, ProgressiveJudge> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Layer first_ = layer("first");
  Layer second_ = layer("second");
};

class ProgressiveEnd final : public SpecBlock<ProgressiveEndSpec, ProgressiveJudge> {
 public:
  using SpecBlock::SpecBlock;
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;

 private:
  Layer first_ = layer("first");
  Layer second_ = layer("second");
  Layer logit_ = layer("logit");
  Parameter* embedding_ = parameter("embedding");  // null without labels
};

}  // namespace gangway::gan
