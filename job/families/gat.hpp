// SPDX-License-Identifier: MIT
// GAT (Generative Adversarial Transformers, Hyun et al., 2025, arXiv 2509.24935) for pictures of 32
// and 64 pixels, plain or with labels. Both networks are transformers; pictures have several
// depths.
//
// As published, by model.width and model.blocks: S 384 and 12, B 768 and 12, L 1024 and 24, XL 1152
// and 28. All have model.latent 64. The paper trains on a pretrained autoencoder's codes of 32x32,
// in model.patch 2.
//
// Not here, but in the paper: rotary positions beside the learned ones; a regression of a
// pretrained network's features in the discriminator; penalties by finite differences (here exact);
// styles drawn to their mean for samples.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture gat_generator(const ModelSpec& model);
[[nodiscard]] Architecture gat_discriminator(const ModelSpec& model);

/// Returns the elements of a transformer's tokens, inner ones included, and of the attention
/// between them.
[[nodiscard]] std::int64_t gat_feature_elements(const ModelSpec& model);

}  // namespace gangway
