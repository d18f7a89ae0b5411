// SPDX-License-Identifier: MIT
// Blocks of style transfer networks, as values: the image transformation network of Johnson et al.,
// 2016 (arXiv 1603.08155), and the levels of a feature network. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway {

/// Optionally doubles the maps by repeating pixels. Then a convolution with reflected borders,
/// which keeps the size except for the stride. Then optionally InstanceNorm, then the activation.
struct TransferLayerSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square, odd
  std::int64_t stride = 1;
  bool doubles = false;  ///< both sides of its input
  bool normalizes =
      true;  ///< each map of each example: mean 0 and variance 1, then a gain and bias
  Activation activation = Activation::kRelu;  ///< or none, or tanh
  std::string input = "features";
};
[[nodiscard]] BlockTensors tensors_of(const TransferLayerSpec& spec);

/// "features" + f("features"). f: 3x3 convolution, InstanceNorm, ReLU, 3x3 convolution,
/// InstanceNorm (Johnson et al., supplementary material). No ReLU behind the sum, after Gross and
/// Wilber, 2016.
struct TransferResidualSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const TransferResidualSpec& spec);

/// A level of a feature network: optionally the maximum of each 2x2 of its input, then a
/// convolution that keeps the size, then ReLU. The result is "features" for the next level, and the
/// level's tensor. Level 0 takes the mean of the picture's channels.
struct FeatureLevelSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square, odd
  bool pools = false;
  int level = 0;  ///< number of the level; 0 takes "image"
};
[[nodiscard]] BlockTensors tensors_of(const FeatureLevelSpec& spec);

/// Returns "level0", …: the tensors that a feature network of `count` levels makes.
[[nodiscard]] std::vector<std::string> level_names(int count);

}  // namespace gangway
