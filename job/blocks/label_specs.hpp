// SPDX-License-Identifier: MIT
// Blocks that give a network the class of an example, as values. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "job/blocks/block_tensors.hpp"

namespace gangway {

/// Generator: appends the one-hot label to "noise" [N, latent] → [N, latent + classes] (Mirza and
/// Osindero, 2014).
struct LabelConcatenationSpec {
  std::int64_t classes = 0;
};
[[nodiscard]] BlockTensors tensors_of(const LabelConcatenationSpec& spec);

/// Discriminator: the logit of "features" [N, features * pixels], plus <embedding(label), their
/// mean over pixels> (projection discriminator, Miyato and Koyama, 2018, eq. 3).
struct ProjectionHeadSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
  std::int64_t pixels = 1;
};
[[nodiscard]] BlockTensors tensors_of(const ProjectionHeadSpec& spec);

/// Generator: appends the label's embedding to "noise" [N, latent] → [N, latent + features].
struct LabelEmbeddingSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
};
[[nodiscard]] BlockTensors tensors_of(const LabelEmbeddingSpec& spec);

/// Discriminator: the logit <"features", embedding(label)> of "features" [N, features].
struct LabelProductSpec {
  std::int64_t classes = 0;
  std::int64_t features = 1;
};
[[nodiscard]] BlockTensors tensors_of(const LabelProductSpec& spec);

}  // namespace gangway
