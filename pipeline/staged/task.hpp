// SPDX-License-Identifier: MIT
// One piece of work of some steps, what it waits for, and what a schedule may choose of both
// (tasks.hpp). No third party.
#pragma once

#include <cstddef>
#include <vector>

#include "job/models/network_id.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

enum class BackwardKind {
  kFused,  ///< input and weight gradients in one
  kSplit,  ///< apart, so that weight gradients may come later
};

enum class PassOrder {
  kFree,     ///< passes, phases and steps overlap as far as they depend on nothing of one another
  kFlushed,  ///< none begins before the last has ended everywhere
};

struct WorkOptions {
  BackwardKind backward = BackwardKind::kSplit;
  PassOrder order = PassOrder::kFree;
  /// How many micro-batches' gradients of a chunk may be begun and not whole. 0: any number.
  int max_open_leaves = 0;
  /// The same in a phase with a penalty, whose leaves are open from its third sweep to the fourth:
  /// through all chunks behind and back. 0: any number.
  int max_penalty_leaves = 0;
  /// By chunk, whether forward runs once more before backward, and keeps nothing till then. Empty:
  /// none does.
  PerNetwork<std::vector<bool>> recomputes = {};
};

struct Dependency {
  int task = 0;
  /// A tensor goes along. Otherwise it is order alone, within a worker: stored activations,
  /// weights, sums.
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
