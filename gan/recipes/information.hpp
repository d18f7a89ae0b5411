// SPDX-License-Identifier: MIT
// The recipe of InfoGAN (Chen et al., 2016): the generator takes latent codes behind its noise, and
// a posterior, another head on the discriminator's features, is to read them off its examples.
// Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Two phases: discriminator and posterior with the trunk that they share, then the generator; the
/// posterior's loss is part of both, as in the authors' own code.
[[nodiscard]] std::vector<pipeline::Phase> information_phases(const Job& job);

}  // namespace gangway::gan
