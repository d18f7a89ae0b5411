// SPDX-License-Identifier: MIT
// The recipe of CycleGAN (Zhu et al., 2017): pictures of two sides that do not belong together one
// by one. A generator a way makes a picture of the other side, of which the other generator is to
// make the first one again. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Two phases: both generators, then both discriminators on what those made before they learnt, or
/// on images of their pools (section 4).
[[nodiscard]] std::vector<pipeline::Phase> cyclegan_phases(const Job& job);

}  // namespace gangway::gan
