// SPDX-License-Identifier: MIT
// One piece of work of some steps, and what it waits for (tasks.hpp). No third party.
#pragma once

#include <cstddef>

#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

struct Dependency {
  int task = 0;
  /// A tensor goes along. Otherwise it is order alone, within a worker: stored activations, weights,
  /// sums.
  bool carries = false;
};

struct Task {
  StageInstruction what;  ///< one that computes, kReduce, or kFlush
  /// kEverybody: of all that have the chunk (kAwait: new weights are everywhere) or of all (kFlush)
  int worker = 0;
  bool fills = false;  ///< what else leaves idle (NodePlan)
  int turn = 0;        ///< how often its phase had run before, repeats counted
  int depth = 0;       ///< applications: chunks from here to the pass's last one, itself counted
};

inline constexpr int kEverybody = -1;

/// The sum of so many gradients of a micro-batch is the same in any order.
inline constexpr std::size_t kMostThatCommute = 2;

}  // namespace gangway::pipeline
