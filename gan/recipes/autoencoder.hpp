// SPDX-License-Identifier: MIT
// The recipe of a variational autoencoder (Kingma and Welling, 2014): an encoder predicts an
// example's distribution in the latent space, and a decoder reconstructs the example. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns one phase, which trains both networks.
[[nodiscard]] std::vector<pipeline::Phase> autoencoder_phases(const Job& job);

}  // namespace gangway::gan
