// SPDX-License-Identifier: MIT
// The recipe of VAE-GAN (Larsen et al., 2016): an autoencoder whose examples are compared by the
// features that a discriminator sees in them; the discriminator judges reconstructions and samples
// of the prior both. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Two phases: the discriminator with its trunk, then generator and encoder (algorithm 1).
[[nodiscard]] std::vector<pipeline::Phase> feature_autoencoder_phases(const Job& job);

}  // namespace gangway::gan
