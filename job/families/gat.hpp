// SPDX-License-Identifier: MIT
// GAT (Generative Adversarial Transformers, Hyun et al., 2025, arXiv 2509.24935) for pictures of 32
// and 64 pixels, plain or with labels: transformers in both networks, and pictures at several
// depths.
//
// As published, by model.width and model.blocks: S 384 and 12, B 768 and 12, L 1024 and 24, XL 1152
// and 28, each with model.latent 64, there on a pretrained autoencoder's codes of 32x32 in
// model.patch 2.
//
// What the paper has and these have not: rotary positions beside the others; a regression of a
// pretrained network's features in the discriminator; penalties by finite differences (here they
// are exact); styles drawn to their mean when it samples.
#pragma once

#include <cstdint>

#include "job/models/architecture.hpp"
#include "job/models/model_spec.hpp"

namespace gangway {

[[nodiscard]] Architecture gat_generator(const ModelSpec& model);
[[nodiscard]] Architecture gat_discriminator(const ModelSpec& model);

/// Elements of the tokens that a transformer's layers take and have inside, and the attention
/// between them.
[[nodiscard]] std::int64_t gat_feature_elements(const ModelSpec& model);

}  // namespace gangway
