// SPDX-License-Identifier: MIT
// What pix2pix's and CycleGAN's networks are made of beside plain layers, as values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway {

/// "features" [N, C, H, W], and before them along the channels those of `skip`, as far as they are
/// above zero (U-Net, Ronneberger et al., 2015; pix2pix, Isola et al., 2017, section 3.2.1): what
/// an encoder's level has found, beside what the decoder makes at the same size.
struct SkipSpec {
  std::string skip;  ///< the tensor's name: "skip3"
};
[[nodiscard]] BlockPorts ports_of(const SkipSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const SkipSpec& spec);

/// What lies around a map where a filter looks beyond its edge.
enum class Border { kZeros, kMirror };

/// A convolution with a bias on "image" or "features", then as asked for: instance normalization
/// without weights (Ulyanov et al., 2016), which looks at one example alone and so has no running
/// statistics, and an activation.
struct InstanceLayerSpec {
  LayerKind kind = LayerKind::kConvolution;
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square
  std::int64_t stride = 1;
  std::int64_t padding = 1;
  std::int64_t output_padding = 0;  ///< of a transposed one: rows and columns added at the end
  Border border = Border::kZeros;
  bool normalizes = true;
  Activation activation = Activation::kRelu;
  std::string input = "features";
};
[[nodiscard]] BlockPorts ports_of(const InstanceLayerSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const InstanceLayerSpec& spec);

/// "features" + f("features"); f is two 3x3 convolutions over mirrored borders, each instance
/// normalized, ReLU between them (CycleGAN, Zhu et al., 2017, appendix 7.2, after Johnson et al.,
/// 2016).
struct InstanceResidualSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockPorts ports_of(const InstanceResidualSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const InstanceResidualSpec& spec);

}  // namespace gangway
