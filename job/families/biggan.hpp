// SPDX-License-Identifier: MIT
// BigGAN (Brock et al., 2019, arXiv 1809.11096) for pictures of 32 to 256 pixels: residual blocks
// under spectral norm in both networks. With labels, a shared embedding and a piece of the noise
// per block make the gains of the generator's BatchNorm. Without labels it is SNGAN's residual pair
// (Miyato et al., 2018): only the first layer takes the noise.
//
// As published: 128 pixels, model.width 96, model.latent 120, model.attention 64 and 1000 labels.
// At 32 pixels all maps have 4 times model.width channels.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture biggan_generator(const ModelSpec& model);
[[nodiscard]] Architecture biggan_discriminator(const ModelSpec& model);

/// Returns the elements of the maps in the discriminator's blocks and in its attention.
[[nodiscard]] std::int64_t biggan_feature_elements(const ModelSpec& model);

}  // namespace gangway
