// SPDX-License-Identifier: MIT
// Blocks of pix2pix's and CycleGAN's networks beside plain layers, as values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/layer_spec.hpp"

namespace gangway {

/// Concatenates ReLU(`skip`) and "features" [N, C, H, W] along the channels. So the decoder also
/// sees the encoder's maps of the same size (U-Net, Ronneberger et al., 2015; pix2pix, Isola et
/// al., 2017, section 3.2.1).
struct SkipSpec {
  std::string skip;  ///< name of the encoder's tensor: "skip3"
};
[[nodiscard]] BlockTensors tensors_of(const SkipSpec& spec);

/// Padding of a map at its edges.
enum class Border { kZeros, kMirror };

/// A convolution with a bias on "image" or "features". Then optionally instance normalization
/// without weights (Ulyanov et al., 2016), and an activation. It normalizes each example alone, so
/// it has no running statistics.
struct InstanceLayerSpec {
  LayerKind kind = LayerKind::kConvolution;
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t kernel = 3;  ///< pixels, square
  std::int64_t stride = 1;
  std::int64_t padding = 1;
  std::int64_t output_padding = 0;  ///< if transposed: rows and columns added at the end
  Border border = Border::kZeros;
  bool normalizes = true;
  Activation activation = Activation::kRelu;
  std::string input = "features";
};
[[nodiscard]] BlockTensors tensors_of(const InstanceLayerSpec& spec);

/// "features" + f("features"). f: two 3x3 convolutions over mirrored borders, instance
/// normalization behind each, ReLU between them (CycleGAN, Zhu et al., 2017, appendix 7.2, after
/// Johnson et al., 2016).
struct InstanceResidualSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const InstanceResidualSpec& spec);

}  // namespace gangway
