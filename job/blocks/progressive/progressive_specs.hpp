// SPDX-License-Identifier: MIT
// Blocks of progressive growing (Karras et al., 2018), as values: one for each resolution. A block
// that has not grown yet does nothing. Pure.
//
// Weights begin as standard normal numbers. Each use multiplies them by He's constant for their
// layer, so that an optimiser moves all layers alike (equalised learning rate, section 4.1). Biases
// begin at zero; activations are leaky ReLU with slope 0.2.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/progressive/growth.hpp"

namespace gangway {

/// Generator, 4 pixels: "noise" [N, in] → "features" [N, channels, 4, 4]: a linear map of the
/// normalized noise, then a 3x3 convolution. After each, and after later blocks' convolutions, a
/// pixel's features are divided by their root mean square (section 4.2). While this block is the
/// finest, or the next fades in, a 1x1 convolution also makes "picture" [N, pictures, 4, 4].
struct ProgressiveStartSpec {
  GrowingPart place;
  std::int64_t in = 1;
  std::int64_t channels = 1;
  std::int64_t pictures = 1;  ///< channels of a picture
};
[[nodiscard]] BlockTensors tensors_of(const ProgressiveStartSpec& spec);

/// Generator, each higher resolution: doubles both sides of "features" by repeating pixels, then
/// two 3x3 convolutions. While it fades in, it mixes its "picture" with the previous one, doubled
/// alike (figure 2).
struct ProgressiveUpSpec {
  GrowingPart place;
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t pictures = 1;
};
[[nodiscard]] BlockTensors tensors_of(const ProgressiveUpSpec& spec);

/// Generator: "picture" as "features" in the network's final resolution, pixels repeated.
struct ProgressivePictureSpec {
  std::int64_t side = kFirstSide;  ///< final
};
[[nodiscard]] BlockTensors tensors_of(const ProgressivePictureSpec& spec);

/// Discriminator, each resolution above 4 pixels: two 3x3 convolutions of "features", then means of
/// 2x2 pixels. The finest block averages "image" [N, pictures, H, W] to its resolution and makes
/// features by a 1x1 convolution. The block below a fading one mixes such features with that
/// block's (figure 2).
struct ProgressiveDownSpec {
  GrowingPart place;
  std::int64_t pictures = 1;
  std::int64_t in = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockTensors tensors_of(const ProgressiveDownSpec& spec);

/// Discriminator, 4 pixels: appends a map of the micro-batch's spread (standard deviation by
/// feature and pixel, averaged to one number: section 3). Then a 3x3 convolution, a linear map of
/// all pixels, and the logit. With labels, adds <embedding(label), features> (Miyato and Koyama,
/// 2018, eq. 3).
struct ProgressiveEndSpec {
  GrowingPart place;
  std::int64_t pictures = 1;
  std::int64_t channels = 1;
  std::int64_t classes = 0;
};
[[nodiscard]] BlockTensors tensors_of(const ProgressiveEndSpec& spec);

}  // namespace gangway
