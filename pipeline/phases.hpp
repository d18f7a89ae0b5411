// SPDX-License-Identifier: MIT
// Describes a training step as phases: each has the networks that it trains and its passes over a
// micro-batch. Recipes (gan/recipes/) make them from a job. No layout, no third party.
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
  int interval = 1;                 ///< runs in every step divisible by it
  bool agrees = false;              ///< on the gradient's norm before the update, because it clips
  /// Whether each repeat reads new real examples; if not, it reads those of the last that did.
  bool takes_reals = false;
  int first_reals = 0;  ///< index of the step's batch of real examples for the first repeat
  /// Weight of the orthogonal regularisation of the trained weights, which no pass has; 0: none
  double orthogonal_weight = 0.0;
  /// The passes, in the order in which their gradients are added into a micro-batch's leaf.
  std::vector<Pass> passes;
};

/// Returns `phases` with all derived fields filled in. @throws as gradient_flow
[[nodiscard]] std::vector<Phase> completed(std::vector<Phase> phases);

/// Returns how many first nodes of the pass a later phase reuses from the last repeat.
[[nodiscard]] int nodes_taken_up(const std::vector<Phase>& phases, int phase, int pass);

/// Names of the pools that passes use, without duplicates, in order of first use.
[[nodiscard]] std::vector<std::string> pools_of(const std::vector<Phase>& phases);

[[nodiscard]] bool trains(const Phase& phase, NetworkId network);

/// Whether `phase` runs in `step` (steps done before it).
[[nodiscard]] inline bool runs_in(const Phase& phase, std::int64_t step) {
  return step % phase.interval == 0;
}

/// How many statistics of `network` a micro-batch gives while `phase` trains the network.
[[nodiscard]] int harvests_of(const Phase& phase, NetworkId network);

/// Returns n / (n + 1) for a network that has an extra regularising update after every n updates,
/// else 1. The factor on learning rate and moment decay undoes the extra update (StyleGAN2, app.
/// B).
[[nodiscard]] double laziness_of(const std::vector<Phase>& phases, NetworkId network);

}  // namespace gangway::pipeline
