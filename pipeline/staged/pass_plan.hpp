// SPDX-License-Identifier: MIT
// What a pass's graph means for the order of work: which applications feed which, where gradients
// come from, and what is on the way that leads from update to update. Tasks (tasks.hpp) are made of
// it. No layout, no third party.
#pragma once

#include <vector>

#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// Of a node that computes with a network. Nodes are named by their index in the pass. What has no
/// weights in between is computed wherever it is needed.
struct NodePlan {
  enum class Kind { kNone, kApplication, kPenalty };
  Kind kind = Kind::kNone;
  NetworkId network{};
  bool is_recalled = false;        ///< an earlier phase has carried it out
  bool has_gradient = false;       ///< backward comes through it
  bool is_trained = false;         ///< and leaves gradients of its weights
  std::vector<int> feeds;          ///< applications whose outputs it takes
  std::vector<int> gradient_from;  ///< applications whose input gradients are its output's
  std::vector<int> losses_with;    ///< other applications whose outputs its losses take
  /// Work that waits for one network's weights alone, and that others wait for only together with
  /// work that waits for more: an application of a network that learns from it, to data or noise,
  /// and its backward where that begins at the pass's losses. It fills what the rest leaves idle.
  bool fills_forward = false;
  bool fills_backward = false;
};

/// By phase, pass and node.
using PassPlans = std::vector<std::vector<std::vector<NodePlan>>>;

/// @param phases  completed
[[nodiscard]] PassPlans plans_of(const std::vector<Phase>& phases);

/// How many updates `network` has had, from step 0 on, when repeat `repeat` of phase `phase` of
/// `step` begins: the version of its weights that all work of that repeat sees.
[[nodiscard]] int version_at(const std::vector<Phase>& phases, NetworkId network, int step,
                             int phase, int repeat);

}  // namespace gangway::pipeline
