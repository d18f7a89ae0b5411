// SPDX-License-Identifier: MIT
// StyleGAN2 (Karras et al., 2020, arXiv 1912.04958) for 32 to 256 pixels, plain or with labels:
// output skips in the generator, residual blocks in the discriminator, as the paper's
// configuration F.
//
// As wide as published: model.width 64 at 256 pixels (the authors' channel_base 16384, their
// paper256; twice that is their configuration F at 1024 pixels), 512 at 32, each with model.latent
// 512 and 8 model.mapping_layers.
//
// Not here, but in the authors' code: 16 bits above 32 pixels, a moving mean of the styles for
// truncation, and augmentation before the discriminator.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture stylegan2_generator(const ModelSpec& model);
[[nodiscard]] Architecture stylegan2_discriminator(const ModelSpec& model);

/// Returns the elements of the maps at and in the discriminator's blocks.
[[nodiscard]] std::int64_t stylegan2_feature_elements(const ModelSpec& model);

}  // namespace gangway
