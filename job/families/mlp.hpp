// SPDX-License-Identifier: MIT
// Two small dense networks for points in the plane (Gulrajani et al., 2017, toy experiments).
#pragma once

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture mlp_generator(const ModelSpec& model);
[[nodiscard]] Architecture mlp_discriminator(const ModelSpec& model);
/// "image", a point → "features" [N, 2 latent]: means, then log variances.
[[nodiscard]] Architecture mlp_encoder(const ModelSpec& model);

}  // namespace gangway
