// SPDX-License-Identifier: MIT
// Dense maps with equalised learning rate (Karras et al., 2018, section 4.1), and the mapping that
// StyleGAN2 makes of them; for gan/blocks/style_blocks.hpp and style_judges.hpp. Compute thread
// only.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gan/block.hpp"

namespace gangway::gan {

/// Added to mean squares and variances before their root is taken (the authors' code).
inline constexpr double kStyleNormEpsilon = 1e-8;

/// Leaky ReLU that keeps the mean square of what is normal. Writes to `x`. In
/// fp16 what comes out is clamped (clamped_if_half).
[[nodiscard]] at::Tensor style_activated(at::Tensor x);
/// Of maps [N, C, H, W] and a bias [C] that is added first.
[[nodiscard]] at::Tensor style_activated(at::Tensor x, const at::Tensor& bias);

/// Rows [N, features] over the root of their mean square.
[[nodiscard]] at::Tensor of_unit_mean_square(const at::Tensor& x);

/// A block with such maps by name.
class EqualizedBlock : public Block {
 protected:
  using Block::Block;

  struct DenseMap {
    Parameter* weight;  // [out, in]; null where the block has none of the name
    Parameter* bias;
    double rate = 1.0;  // on both
    /// In float32, whatever the precision.
    [[nodiscard]] at::Tensor of(const at::Tensor& x) const;
  };
  /// Of "NAME.weight" and "NAME.bias".
  [[nodiscard]] DenseMap dense(const std::string& name, double rate = 1.0);

  /// Dense layers "layer0", "layer1" … with activations.
  struct Mapping {
    std::vector<DenseMap> layers;
    [[nodiscard]] at::Tensor of(at::Tensor x) const;
  };
  [[nodiscard]] Mapping mapping(int layers);

  /// The embedding of labels int64 [N], of mean square one. @pre `embedding` is there
  [[nodiscard]] static at::Tensor embedded_label(const at::Tensor& labels,
                                                 const DenseMap& embedding);
};

/// What a weight [out, in, …] is multiplied by as it is used.
[[nodiscard]] inline double equalizing_gain(const at::Tensor& weight) {
  return 1.0 / std::sqrt(static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0)));
}

}  // namespace gangway::gan
