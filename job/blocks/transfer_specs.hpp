// SPDX-License-Identifier: MIT
// What the networks of style transfer are made of, as values: the image transformation network of
// Johnson et al., 2016 (arXiv 1603.08155), and layers of a feature network. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway {

/// Maps twice as large, pixel by pixel, where asked for; then a convolution of a picture that is
/// continued by its reflection, so that it keeps its size but for the stride; then InstanceNorm
/// where asked for; then the activation.
struct TransferLayerSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square, odd
  std::int64_t stride = 1;
  bool doubles = false;  ///< both sides of what it takes
  bool normalizes =
      true;  ///< each map of each example: mean 0 and variance 1, then a gain and bias
  Activation activation = Activation::kRelu;  ///< or none, or tanh
  std::string input = "features";
};
[[nodiscard]] BlockPorts ports_of(const TransferLayerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TransferLayerSpec& spec);

/// "features" + f("features"); f is a 3x3 convolution, InstanceNorm, ReLU, a 3x3 convolution and
/// InstanceNorm (Johnson et al., supplementary material; after Gross and Wilber, 2016, no ReLU
/// behind the sum).
struct TransferResidualSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockPorts ports_of(const TransferResidualSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const TransferResidualSpec& spec);

/// A level of a feature network: the largest of each 2x2 of what it takes, where asked for; a
/// convolution that keeps the size; ReLU. It leaves that in "features", for the next one, and as
/// the level. Of a picture it takes the mean of the channels.
struct FeatureLevelSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square, odd
  bool pools = false;
  int level = 0;  ///< its number; 0 takes "image"
};
[[nodiscard]] BlockPorts ports_of(const FeatureLevelSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const FeatureLevelSpec& spec);

/// "level0", …: the tensors that a feature network of `count` levels makes.
[[nodiscard]] std::vector<std::string> level_names(int count);

}  // namespace gangway
