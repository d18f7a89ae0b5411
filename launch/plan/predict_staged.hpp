// SPDX-License-Identifier: MIT
// Predictions for layouts in which workers do not have all networks, or not whole ones: the lists
// that they would run, in the simulator of pipeline/. Pure.
#pragma once

#include <vector>

#include "launch/plan/predict.hpp"

namespace gangway::launch {

/// @pre layout.shape is not kWhole
[[nodiscard]] Prediction predict_staged(const PlanInput& input, const PlannedLayout& layout);

/// Those of `workers` workers that could be worth it: each network on workers of its own, by what
/// they compute, and rows of stages where the networks have enough blocks.
[[nodiscard]] std::vector<PlannedLayout> staged_layouts(const PlanInput& input, int workers);

}  // namespace gangway::launch
