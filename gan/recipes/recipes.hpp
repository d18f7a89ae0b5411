// SPDX-License-Identifier: MIT
// Describes the steps of each recipe as data. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// Returns the phases of the job's recipe, in the order of a step.
/// @param torch  LibTorch version of this program, which a user's library must match before it is
/// opened; empty: not compared
/// @throws ConfigError if a library does not provide the phases
[[nodiscard]] std::vector<pipeline::Phase> phases_of(const Job& job, std::string_view torch = {});

}  // namespace gangway::gan
