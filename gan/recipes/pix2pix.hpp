// SPDX-License-Identifier: MIT
// The recipe of pix2pix (Isola et al., 2017): a generator makes the second picture of a pair of the
// first, and a discriminator that sees both judges whether they belong together. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Two phases: the discriminator, then the generator, which also learns from the mean absolute
/// difference from the pair's own second picture (eq. 4).
[[nodiscard]] std::vector<pipeline::Phase> pix2pix_phases(const Job& job);

}  // namespace gangway::gan
