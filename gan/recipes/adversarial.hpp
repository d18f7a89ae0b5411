// SPDX-License-Identifier: MIT
// The recipe of a plain GAN: a discriminator that tells real from generated, a generator that is
// judged by it, and the penalties that keep the discriminator smooth. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// The job's phases in the order of a step: discriminator, generator, the discriminator's lazy
/// regulariser if there is one.
[[nodiscard]] std::vector<pipeline::Phase> adversarial_phases(const Job& job);

}  // namespace gangway::gan
