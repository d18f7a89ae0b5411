// SPDX-License-Identifier: MIT
#include "coordinator/trouble/loss_bound.hpp"

#include <algorithm>

namespace gangway::coordinator {

double loss_bound(const JobSpec& job, const RecipeNetwork& network) {
  const Recipe& recipe = *job.training.recipe;
  const auto is_row = [&recipe](const Recipe& row) { return &row == &recipe; };
  const bool is_of_gangway = std::ranges::any_of(recipes(), is_row);
  if (!is_of_gangway || !recipe.is_adversarial || job.training.loss == LossKind::kWasserstein) {
    return 0.0;
  }
  const bool compares_examples = recipe.is_autoencoder || recipe.translates || recipe.distils();
  return judges(network.role) || !compares_examples ? job.training.divergence.loss_bound : 0.0;
}

}  // namespace gangway::coordinator
