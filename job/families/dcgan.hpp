// SPDX-License-Identifier: MIT
// DCGAN (Radford et al., 2015) for 32 and 64 pixels, plain or with labels.
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture dcgan_generator(const ModelSpec& model);
[[nodiscard]] Architecture dcgan_discriminator(const ModelSpec& model);
/// The discriminator's convolutions: "image" → "features" [N, 2 latent], means, then log variances.
[[nodiscard]] Architecture dcgan_encoder(const ModelSpec& model);

}  // namespace gangway
