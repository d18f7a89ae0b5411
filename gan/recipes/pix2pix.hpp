// SPDX-License-Identifier: MIT
// The recipe of pix2pix (Isola et al., 2017): a generator makes the second picture of a pair from
// the first; a discriminator sees both and judges whether they are a real pair. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns two phases: the discriminator, then the generator. The generator's loss adds the mean
/// absolute difference from the pair's second picture (eq. 4).
[[nodiscard]] std::vector<pipeline::Phase> pix2pix_phases(const Job& job);

}  // namespace gangway::gan
