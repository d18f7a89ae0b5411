// SPDX-License-Identifier: MIT
// Blocks of StyleGAN2's networks (Karras et al., 2020, arXiv 1912.04958), as values. Weights begin
// with deviation one; each use divides them by the root of their fan-in (equalised learning rate,
// Karras et al., 2018, section 4.1). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// Tensor from a mapping, [N, count, features]: a style per layer of the synthesis network.
inline constexpr const char* kStyles = "styles";

/// Statistic of the mapping block: the moving mean of the lengths in path length regularisation
/// (Karras et al., 2020, section 3.2).
inline constexpr const char* kPathLength = "path_length";
/// Statistic of a layer that stores its constant noise, row by row. Training leaves it as it is.
inline constexpr const char* kStoredNoise = "noise";
/// Weight of the newest lengths in that mean (the authors' code).
inline constexpr double kPathLengthMomentum = 0.01;

/// Generator: "noise" [N, latent] (and "labels") → "styles" [N, count, features]: `layers` dense
/// layers of the noise and the label's embedding, each normalized to mean square one. In training,
/// with probability `mixing`, an example takes a second noise's style from a random layer after the
/// first on. That layer is keyed and drawn per example (style mixing, Karras et al., 2019, section
/// 3.1: per batch).
struct StyleMappingSpec {
  std::int64_t latent = 1;
  std::int64_t classes = 0;
  std::int64_t features = 1;
  int layers = 8;
  std::int64_t count = 2;
  double mixing = 0.0;
};
[[nodiscard]] BlockTensors tensors_of(const StyleMappingSpec& spec);

/// Generator: learned "features" [N, channels, 4, 4], the same for every style.
struct StyleConstantSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const StyleConstantSpec& spec);

/// Generator: a 3x3 convolution of "features", whose weights a style scales and then normalizes
/// (Karras et al., 2020, eq. 1 and 3). Optionally doubles the maps. Then adds noise of learned
/// strength, one value per pixel, and a bias; leaky ReLU. The noise is keyed in training, and fixed
/// for all pictures in evaluation.
struct StyleLayerSpec {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t features = 1;  ///< of a style
  std::int64_t index = 0;     ///< of its style among "styles"
  std::int64_t side = 4;      ///< pixels a side of its output
  bool doubles = false;       ///< whether it doubles the side
  bool stores_noise = false;  ///< whether evaluation takes kStoredNoise
};
[[nodiscard]] BlockTensors tensors_of(const StyleLayerSpec& spec);

/// Generator: makes a picture of "features" by a 1x1 convolution, whose weights a style scales.
/// Adds it to the interpolated "picture" of half its size; the first block has none to add to. The
/// last block leaves the sum in "features" (Karras et al., 2020, figure 7b: output skips).
struct StylePictureSpec {
  std::int64_t in = 1;
  std::int64_t channels = 1;  ///< of a picture
  std::int64_t features = 1;  ///< of a style
  std::int64_t index = 0;
  bool is_first = false;
  bool is_last = false;
};
[[nodiscard]] BlockTensors tensors_of(const StylePictureSpec& spec);

/// Discriminator: "image" → "features" by a 1x1 convolution and leaky ReLU.
struct StyleImageSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockTensors tensors_of(const StyleImageSpec& spec);

/// Discriminator: halves the sides of "features" by two 3x3 convolutions with leaky ReLU, maps
/// smoothed before the second. A residual block adds a 1x1 convolution of the smaller maps and
/// divides by the root of 2 (Karras et al., 2020, figure 7c). Without residual: the two alone
/// (`orig` of StyleGAN2-ADA's code).
struct StyleHalvingSpec {
  std::int64_t in = 1;
  std::int64_t out = 1;
  bool is_residual = true;
};
[[nodiscard]] BlockTensors tensors_of(const StyleHalvingSpec& spec);

/// Discriminator: "features" [N, channels, 4, 4] → [N, out]. Appends a map of the deviation within
/// a group; then a 3x3 convolution, a dense layer, leaky ReLU each, and a dense map. A group is of
/// one micro-batch, the unit of arithmetic: the largest divisor of its size up to `group` (Karras
/// et al., 2018, section 3).
struct StyleEpilogueSpec {
  std::int64_t channels = 1;
  std::int64_t out = 1;
  std::int64_t group = 4;
};
[[nodiscard]] BlockTensors tensors_of(const StyleEpilogueSpec& spec);

/// Discriminator: the logit <"features", mapping(label)> / sqrt(features), with a mapping as in the
/// generator (StyleGAN2-ADA, Karras et al., 2020b, the authors' code).
struct StyleLabelSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
  int layers = 8;
};
[[nodiscard]] BlockTensors tensors_of(const StyleLabelSpec& spec);

}  // namespace gangway
