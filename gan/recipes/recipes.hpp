// SPDX-License-Identifier: MIT
// What a step of each recipe does, as data. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::gan {

/// The phases of the job's recipe, in the order of a step.
/// @param torch  version of this program's LibTorch, which a user's library must have been built
/// with: compared before it is opened; empty: not compared
/// @throws ConfigError of a library that cannot say them
[[nodiscard]] std::vector<pipeline::Phase> phases_of(const Job& job, std::string_view torch = {});

}  // namespace gangway::gan
