// SPDX-License-Identifier: MIT
// The recipe of VAE-GAN (Larsen et al., 2016): an autoencoder that compares examples by a
// discriminator's features. The discriminator judges reconstructions and samples of the prior.
// Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns two phases: the discriminator with its trunk, then generator and encoder (algorithm 1).
[[nodiscard]] std::vector<pipeline::Phase> feature_autoencoder_phases(const Job& job);

}  // namespace gangway::gan
