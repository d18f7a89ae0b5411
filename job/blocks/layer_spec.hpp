// SPDX-License-Identifier: MIT
// A plain layer (linear map or convolution) as a value. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

enum class LayerKind { kLinear, kConvolution, kTransposedConvolution };
enum class Activation { kNone, kRelu, kLeakyRelu, kSoftplus, kTanh };

/// A linear map, then optionally BatchNorm, an activation and keyed dropout.
struct LayerSpec {
  LayerKind kind = LayerKind::kLinear;
  std::int64_t in = 1;  ///< features or channels
  std::int64_t out = 1;
  std::int64_t kernel = 4;  ///< pixels, square
  std::int64_t stride = 2;
  std::int64_t padding = 1;
  bool bias = false;
  bool batch_norm = false;
  Activation activation = Activation::kNone;
  double dropout = 0.0;                         ///< probability, keyed
  std::vector<std::int64_t> input_shape = {};   ///< per example; empty: as it comes
  std::vector<std::int64_t> output_shape = {};  ///< same, of the output
  std::string input = "features";
  std::string output = "features";
  double initial_scale = 0.02;  ///< of the weight
};
[[nodiscard]] BlockTensors tensors_of(const LayerSpec& spec);

}  // namespace gangway
