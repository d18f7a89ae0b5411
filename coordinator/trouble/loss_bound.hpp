// SPDX-License-Identifier: MIT
// Finds the size above which a network's loss is meaningless. Pure.
#pragma once

#include "job/spec.hpp"

namespace gangway::coordinator {

/// Returns training.divergence.loss_bound if the loss is a function of logits alone: no healthy
/// training exceeds it. That is all of training.loss but the Wasserstein critic's, which has no
/// scale. Returns 0, no bound, if pixels, features or a library's losses are part of it.
[[nodiscard]] double loss_bound(const JobSpec& job, const RecipeNetwork& network);

}  // namespace gangway::coordinator
