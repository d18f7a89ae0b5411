// SPDX-License-Identifier: MIT
// Blocks of BigGAN's networks, as values: residual blocks whose linear maps are divided by their
// spectral norms. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

// Each use of a map divides it by its largest singular value (Miyato et al., 2018, section 2.1).
// One power iteration estimates that value from the statistic "MAP.direction", the left singular
// vector of the previous update.

/// Pixels a side of the smallest maps.
inline constexpr std::int64_t kStemSide = 4;

/// Generator: the first elements of "noise" [N, …] → "features" [N, channels, 4, 4].
struct SpectralStemSpec {
  std::int64_t taken = 1;  ///< elements of the noise
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const SpectralStemSpec& spec);

/// Generator: "labels" → "style" [N, features], an embedding for all blocks (BigGAN, Brock et al.,
/// 2019, section 3).
struct SharedEmbeddingSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
};
[[nodiscard]] BlockTensors tensors_of(const SharedEmbeddingSpec& spec);

/// Generator: doubles both sides of "features" [N, in, H, W] → [N, out, 2 H, 2 W]. A residual block
/// of two 3x3 convolutions, BatchNorm and ReLU before each, beside a 1x1 convolution. BatchNorm's
/// gains and shifts are, with a style, linear functions of "style" and a piece of "noise" (de Vries
/// et al., 2017; BigGAN, figure 15). With classes they are embeddings of "labels" (Miyato and
/// Koyama, 2018), else weights.
struct SpectralUpSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  std::int64_t style = 0;    ///< features of "style"; 0: takes neither style nor noise
  std::int64_t classes = 0;  ///< of the embeddings, if there is no style
  std::int64_t first = 0;    ///< first element of the piece of noise
  std::int64_t taken = 0;    ///< elements of the piece
};
[[nodiscard]] BlockTensors tensors_of(const SpectralUpSpec& spec);

/// Generator: "features" → pictures [N, channels, H, W] in [-1, 1]: BatchNorm, ReLU, a 3x3
/// convolution, tanh.
struct SpectralPictureSpec {
  std::int64_t in = 1;
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const SpectralPictureSpec& spec);

/// Discriminator: a residual block of two 3x3 convolutions, ReLU before each, optionally halved by
/// a mean. A 1x1 convolution is beside them if sides or channels change. The first block takes
/// "image", without ReLU before its first convolution.
struct SpectralDownSpec {
  std::int64_t in = 1;  ///< channels
  std::int64_t out = 1;
  bool halves = true;
  bool is_first = false;
};
[[nodiscard]] BlockTensors tensors_of(const SpectralDownSpec& spec);

/// "features" + gain * attention("features"). Every pixel is a query; keys and values are maxima of
/// 2x2 pixels. The gain, one number, begins at zero (Zhang et al., 2019, eq. 1 to 3, as in BigGAN).
struct SpectralAttentionSpec {
  std::int64_t channels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const SpectralAttentionSpec& spec);

/// Discriminator: the logit of the sum over pixels of ReLU("features"), with labels plus
/// <embedding, that sum> (Miyato and Koyama, 2018, eq. 3).
struct SpectralHeadSpec {
  std::int64_t classes = 0;  ///< 0: takes no labels
  std::int64_t features = 1;
};
[[nodiscard]] BlockTensors tensors_of(const SpectralHeadSpec& spec);

}  // namespace gangway
