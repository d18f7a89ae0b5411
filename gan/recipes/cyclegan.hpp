// SPDX-License-Identifier: MIT
// The recipe of CycleGAN (Zhu et al., 2017), for unpaired pictures of two sides. Each generator
// translates to the other side, and the other generator must restore the original. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns two phases: both generators, then both discriminators. These see pictures made before
/// the generators' update, or images of their pools (section 4).
[[nodiscard]] std::vector<pipeline::Phase> cyclegan_phases(const Job& job);

}  // namespace gangway::gan
