// SPDX-License-Identifier: MIT
// What a step consists of, as data: phases, each with the networks it trains and the passes over a
// micro-batch. Recipes (gan/recipes/) make them from a job; no layout, no third party.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/graph.hpp"

namespace gangway::pipeline {

struct Phase {
  std::string name;  ///< "discriminator", "generator", "discriminator_regulariser"
  int index = 0;     ///< position in the step: part of every random key; set by `completed`
  std::vector<NetworkId> networks;  ///< trained, in the order in which their exchanges begin
  int repeats = 1;                  ///< n_critic
  int interval = 1;                 ///< run in every step divisible by it
  bool agrees = false;              ///< on the norm of its gradient, before the update: it clips
  /// Whether each repeat looks at new real examples; others look at those of the last that did.
  bool takes_reals = false;
  int first_reals = 0;  ///< which of the step's batches of them its first repeat takes
  /// Of the orthogonal regularisation of the weights that it trains, which no pass computes; 0:
  /// none
  double orthogonal_weight = 0.0;
  /// The order in which their gradients are added into a micro-batch's leaf.
  std::vector<Pass> passes;
};

/// `phases` with all that follows from the rest filled in. @throws as gradient_flow
[[nodiscard]] std::vector<Phase> completed(std::vector<Phase> phases);

/// Of the pass's first nodes, how many a later phase takes up as its last repeat made them.
[[nodiscard]] int nodes_taken_up(const std::vector<Phase>& phases, int phase, int pass);

/// Names of the pools that passes ask for, each once, in their order.
[[nodiscard]] std::vector<std::string> pools_of(const std::vector<Phase>& phases);

[[nodiscard]] bool trains(const Phase& phase, NetworkId network);

/// Whether `phase` runs in `step` (steps done before it).
[[nodiscard]] inline bool runs_in(const Phase& phase, std::int64_t step) {
  return step % phase.interval == 0;
}

/// How often a micro-batch's statistics of `network` are seen while `phase` trains it.
[[nodiscard]] int harvests_of(const Phase& phase, NetworkId network);

/// n / (n + 1) for a network that is regularised in a phase of its own after every n updates, else
/// 1: the factor of learning rate and moments' decay that undoes the additional update (StyleGAN2,
/// app. B).
[[nodiscard]] double laziness_of(const std::vector<Phase>& phases, NetworkId network);

}  // namespace gangway::pipeline
