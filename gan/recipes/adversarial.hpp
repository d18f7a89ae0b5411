// SPDX-License-Identifier: MIT
// The recipe of a plain GAN: a discriminator of real and generated pictures, a generator that it
// judges, and penalties that keep the discriminator smooth. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns the phases of a step in order: discriminator, generator, and the discriminator's lazy
/// regulariser if there is one.
[[nodiscard]] std::vector<pipeline::Phase> adversarial_phases(const Job& job);

}  // namespace gangway::gan
