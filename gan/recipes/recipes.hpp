// SPDX-License-Identifier: MIT
// What a step of each recipe does, as data. Pure.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// The phases of the job's recipe, in the order of a step.
[[nodiscard]] std::vector<pipeline::Phase> phases_of(const JobSpec& job);

}  // namespace gangway::gan
