// SPDX-License-Identifier: MIT
// Which forwards are carried out once more for their backward where the layout says so
// (layout.recompute): as worker/pass/made_again.cpp decides it. Pure.
#pragma once

#include <vector>

#include "pipeline/phases.hpp"

namespace gangway::plan {

/// Whether the application that is `node` of a pass has a backward and, between the two, keeps
/// nothing but what it takes and makes. What a later phase takes up is kept all the same.
/// @param phases  all of the job's, as they are cut
[[nodiscard]] bool is_made_again(const std::vector<pipeline::Phase>& phases, int phase, int pass,
                                 int node);

}  // namespace gangway::plan
