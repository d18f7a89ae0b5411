// SPDX-License-Identifier: MIT
// Networks that turn a picture into another of the same size, and discriminators that judge such
// pictures patch by patch, for 32 to 256 pixels.
//
// unet: pix2pix's (Isola et al., 2017) U-Net, BatchNorm, with dropout in the decoder as the only
// noise. cyclegan: CycleGAN's (Zhu et al., 2017) residual blocks, instance normalization. Counts at
// 256 pixels, width 64, RGB are those of the authors' PyTorch code
// (github.com/junyanz/pytorch-CycleGAN-and-pix2pix, models/networks.py).
//
// Not here, but in that code: a trained U-Net uses the test picture's BatchNorm statistics, and
// dropout. Here it is a function of its input alone.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

/// "image" [N, C, S, S] → the same shape in [-1, 1].
[[nodiscard]] Architecture unet_translator(const ModelSpec& model);
[[nodiscard]] Architecture residual_translator(const ModelSpec& model);

/// "image" [N, C, S, S] → a logit for each overlapping patch, [N, 1, h, w] (PatchGAN, Isola et al.,
/// 2017, section 3.2.2). Patches are 70x70 from 128 pixels on, 34x34 at 64, 16x16 at 32.
[[nodiscard]] Architecture unet_discriminator(const ModelSpec& model);
[[nodiscard]] Architecture residual_discriminator(const ModelSpec& model);

/// Same for two pictures, "image" [N, 2 C, S, S]: whether the second belongs to the first.
[[nodiscard]] Architecture unet_pair_discriminator(const ModelSpec& model);
[[nodiscard]] Architecture residual_pair_discriminator(const ModelSpec& model);

/// Return the elements of a translator's maps.
[[nodiscard]] std::int64_t unet_feature_elements(const ModelSpec& model);
[[nodiscard]] std::int64_t residual_feature_elements(const ModelSpec& model);

}  // namespace gangway
