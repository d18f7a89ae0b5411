// SPDX-License-Identifier: MIT
// The built-in networks, as lists of blocks made from the job's model section.
//
// Generator: "noise" [N, latent] (and "labels" int64 [N]) → images [N, C, H, W] in [-1, 1] or
// points [N, 2]. Discriminator: "image" of the same shape (and "labels") → logits [N, 1].
#pragma once

#include "gan/network.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

struct NetworkPair {
  Network generator;
  Network discriminator;
};

/// Weights are zero until Network::initialise. @throws ConfigError for a model that does not exist.
[[nodiscard]] NetworkPair build_networks(const JobSpec& job);

/// Shape of one generated example: {C, H, W} or {2}.
[[nodiscard]] std::vector<std::int64_t> example_shape(const ModelSpec& model);

}  // namespace gangway::gan
