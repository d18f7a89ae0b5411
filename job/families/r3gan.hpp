// SPDX-License-Identifier: MIT
// R3GAN (Huang et al., 2024, arXiv 2501.05441) for 32 to 256 pixels, plain or with labels: residual
// blocks without normalization in both networks, and pictures without tanh.
//
// As wide as published: model.width 768 at 32 pixels (CIFAR-10; 1536 is ImageNet-32), 384 at 64 and
// 96 at 256 (FFHQ), each with model.latent 64 and 2 model.blocks.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture r3gan_generator(const ModelSpec& model);
[[nodiscard]] Architecture r3gan_discriminator(const ModelSpec& model);

/// Returns the elements of the maps at and in the residual blocks, from the picture down.
[[nodiscard]] std::int64_t r3gan_feature_elements(const ModelSpec& model);

}  // namespace gangway
