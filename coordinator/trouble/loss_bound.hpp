// SPDX-License-Identifier: MIT
// Up to which size a network's loss means anything, by what the loss is. Pure.
#pragma once

#include "job/spec.hpp"

namespace gangway::coordinator {

/// training.divergence.loss_bound where a network's loss is a function of logits that no healthy
/// training takes so far (all of training.loss but the critic's of Wasserstein, which has no
/// scale); 0, no bound, where pixels, features or a library's own losses are part of it.
[[nodiscard]] double loss_bound(const JobSpec& job, const RecipeNetwork& network);

}  // namespace gangway::coordinator
