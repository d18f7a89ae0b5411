// SPDX-License-Identifier: MIT
// What a step's compute has alive beside what waits for its backward: from what a profile has seen
// of one worker that has all networks and one micro-batch in work. Pure.
#pragma once

#include <cstdint>

#include "launch/plan/predict.hpp"
#include "launch/plan/stages/node_costs.hpp"

namespace gangway::launch {

/// What networks make inside, until its backward.
enum class Activations {
  kKept,
  kMadeAgain,  ///< layout.recompute
};

/// Gradients on their way, workspaces, what is made and let go of; of kMadeAgain no less than of
/// kKept, and as much as the profile has seen, if it has.
[[nodiscard]] std::int64_t transient_bytes(const PlanInput& input, const BlockCosts& costs,
                                           Activations activations);

}  // namespace gangway::launch
