// SPDX-License-Identifier: MIT
// What the networks of progressive growing (Karras et al., 2018) are made of, as values: a block
// for each resolution, of which those that are not there yet do nothing. Pure.
//
// All weights begin as standard normal numbers and are multiplied, where they are used, by He's
// constant for their layer, so that an optimiser moves all layers alike (equalised learning rate,
// section 4.1). Biases begin at zero; activations are leaky ReLU with slope 0.2.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"
#include "job/blocks/progressive/growth.hpp"

namespace gangway {

/// Generator, 4 pixels: "noise" [N, in] → "features" [N, channels, 4, 4]: a linear map of the
/// normalized noise and a 3x3 convolution. Behind each, and behind each convolution of the other
/// blocks, each pixel's features are divided by the root of their mean square (section 4.2).
/// While it is the finest, or the next block fades in, also "picture" [N, pictures, 4, 4], by a 1x1
/// convolution.
struct ProgressiveStartSpec {
  GrowingPart place;
  std::int64_t in = 1;
  std::int64_t channels = 1;
  std::int64_t pictures = 1;  ///< channels of a picture
};
[[nodiscard]] BlockPorts ports_of(const ProgressiveStartSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProgressiveStartSpec& spec);

/// Generator, a resolution above: doubles both sides of "features" by repeating pixels, then two
/// 3x3 convolutions. Its "picture" has a share beside the one before, doubled alike, while it fades
/// in (figure 2).
struct ProgressiveUpSpec {
  GrowingPart place;
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t pictures = 1;
};
[[nodiscard]] BlockPorts ports_of(const ProgressiveUpSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProgressiveUpSpec& spec);

/// Generator: "picture" in the network's final resolution as "features", pixels repeated.
struct ProgressivePictureSpec {
  std::int64_t side = kFirstSide;  ///< final
};
[[nodiscard]] BlockPorts ports_of(const ProgressivePictureSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProgressivePictureSpec& spec);

/// Discriminator, any resolution above 4 pixels: two 3x3 convolutions of "features", then means of
/// 2x2 pixels. The finest makes its features of the "image" [N, pictures, H, W] in any resolution,
/// averaged to its own, by a 1x1 convolution; the one below a block that fades in mixes what it
/// makes so with that block's (figure 2).
struct ProgressiveDownSpec {
  GrowingPart place;
  std::int64_t pictures = 1;
  std::int64_t in = 1;
  std::int64_t out = 1;
};
[[nodiscard]] BlockPorts ports_of(const ProgressiveDownSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProgressiveDownSpec& spec);

/// Discriminator, 4 pixels: how far the micro-batch's examples are apart as a feature map more
/// (their standard deviation by feature and pixel, averaged to one number: section 3), a 3x3
/// convolution, a linear map of all pixels, and the logit; with labels <embedding(label), features>
/// is added to it (Miyato and Koyama, 2018, eq. 3).
struct ProgressiveEndSpec {
  GrowingPart place;
  std::int64_t pictures = 1;
  std::int64_t channels = 1;
  std::int64_t classes = 0;
};
[[nodiscard]] BlockPorts ports_of(const ProgressiveEndSpec& spec);
[[nodiscard]] std::vector<ParameterSpec> parameters_of(const ProgressiveEndSpec& spec);

}  // namespace gangway
