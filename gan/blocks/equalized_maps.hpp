// SPDX-License-Identifier: MIT
// Dense maps with equalised learning rate (Karras et al., 2018, section 4.1), and StyleGAN2's
// mapping made of them. Used by gan/blocks/style_blocks.hpp and style_judges.hpp. Compute thread
// only.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "gan/block.hpp"
#include "job/blocks/block_constants.hpp"

namespace gangway::gan {

/// Applies leaky ReLU, scaled so that normal input keeps its mean square. Writes to `x`. Clamps the
/// result in fp16 (clamped_if_half).
[[nodiscard]] at::Tensor style_activated(at::Tensor x);
/// The same for maps [N, C, H, W], after adding the bias [C].
[[nodiscard]] at::Tensor style_activated(at::Tensor x, const at::Tensor& bias);

/// Divides rows [N, features] by the root of their mean square.
[[nodiscard]] at::Tensor of_unit_mean_square(const at::Tensor& x);

/// Base of blocks that find their equalised maps by name.
class EqualizedBlock : public Block {
 protected:
  using Block::Block;

  struct DenseMap {
    Parameter* weight;  // [out, in]; null if the block has none of that name
    Parameter* bias;
    double rate = 1.0;  // learning rate factor of both
    /// Applies the map in float32 in any precision.
    [[nodiscard]] at::Tensor of(const at::Tensor& x) const;
  };
  /// Returns the map of "NAME.weight" and "NAME.bias".
  [[nodiscard]] DenseMap dense(const std::string& name, double rate = 1.0);

  /// Dense layers "layer0", "layer1" … with activations.
  struct Mapping {
    std::vector<DenseMap> layers;
    [[nodiscard]] at::Tensor of(at::Tensor x) const;
  };
  [[nodiscard]] Mapping mapping(int layers);

  /// Returns the embedding of labels int64 [N], with mean square 1. @pre `embedding` exists
  [[nodiscard]] static at::Tensor embedded_label(const at::Tensor& labels,
                                                 const DenseMap& embedding);
};

/// Returns the factor that a weight [out, in, …] is multiplied by at each use.
[[nodiscard]] inline double equalizing_gain(const at::Tensor& weight) {
  return 1.0 / std::sqrt(static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0)));
}

}  // namespace gangway::gan
