// SPDX-License-Identifier: MIT
// The recipe of InfoGAN (Chen et al., 2016). The generator takes latent codes after its noise. A
// posterior, a second head on the discriminator's features, predicts the codes. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns two phases: discriminator and posterior with their shared trunk, then the generator.
/// Both include the posterior's loss, as in the authors' code.
[[nodiscard]] std::vector<pipeline::Phase> information_phases(const Job& job);

}  // namespace gangway::gan
