// SPDX-License-Identifier: MIT
// Blocks of progressive growing (Karras et al., 2018), one for each resolution. A network may be
// cut at each. For what they compute see job/blocks/progressive/progressive_specs.hpp. The context
// holds the growth; a block that is not active yet passes its inputs on, and its weights get no
// gradient. All operators can be differentiated twice because penalties need it. Compute thread
// only.
#pragma once

#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "gan/block.hpp"
#include "job/blocks/progressive/progressive_specs.hpp"

namespace gangway::gan {

/// Added to a mean square before its square root (section 4.2, and the authors' code).
inline constexpr double kPixelEpsilon = 1e-8;

/// Gains of layers before a leaky ReLU, and of layers that make pictures and logits (He et al.,
/// 2015; the authors' code).
inline constexpr double kActivatedGain = std::numbers::sqrt2;
inline constexpr double kPlainGain = 1.0;

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

class ProgressiveStart final : public ProgressiveBlock {
 public:
  explicit ProgressiveStart(const ProgressiveStartSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProgressiveStartSpec& spec() const { return spec_; }

 private:
  ProgressiveStartSpec spec_;
  Layer first_;
  Layer second_;
  Layer picture_;
};

class ProgressiveUp final : public ProgressiveBlock {
 public:
  explicit ProgressiveUp(const ProgressiveUpSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProgressiveUpSpec& spec() const { return spec_; }

 private:
  ProgressiveUpSpec spec_;
  Layer first_;
  Layer second_;
  Layer picture_;
};

class ProgressivePicture final : public Block {
 public:
  explicit ProgressivePicture(const ProgressivePictureSpec& spec)
      : Block(ports_of(spec)), spec_(spec) {}
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProgressivePictureSpec& spec() const { return spec_; }

 private:
  ProgressivePictureSpec spec_;
};

/// Base of a discriminator's blocks, which may take the picture as input.
class ProgressiveJudge : public ProgressiveBlock {
 protected:
  ProgressiveJudge(BlockPorts ports, const std::vector<ParameterSpec>& parameters,
                   const GrowingPart& place);
  /// Returns the block's input: the finer block's output, the picture, or a mix of both.
  [[nodiscard]] at::Tensor incoming(const NamedTensors& in, double growth) const;

 private:
  GrowingPart place_;
  Layer picture_;
};

class ProgressiveDown final : public ProgressiveJudge {
 public:
  explicit ProgressiveDown(const ProgressiveDownSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProgressiveDownSpec& spec() const { return spec_; }

 private:
  ProgressiveDownSpec spec_;
  Layer first_;
  Layer second_;
};

class ProgressiveEnd final : public ProgressiveJudge {
 public:
  explicit ProgressiveEnd(const ProgressiveEndSpec& spec);
  [[nodiscard]] NamedTensors forward(const NamedTensors& in,
                                     const ForwardContext& context) override;
  [[nodiscard]] const ProgressiveEndSpec& spec() const { return spec_; }

 private:
  ProgressiveEndSpec spec_;
  Layer first_;
  Layer second_;
  Layer logit_;
  Parameter* embedding_;  // null without labels
};

[[nodiscard]] std::unique_ptr<Block> make_block(const ProgressiveStartSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ProgressiveUpSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ProgressivePictureSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ProgressiveDownSpec& spec);
[[nodiscard]] std::unique_ptr<Block> make_block(const ProgressiveEndSpec& spec);

}  // namespace gangway::gan
