// SPDX-License-Identifier: MIT
// Puts the tasks of some steps into an order for each worker: the schedule, but for what follows
// from the order (lowering.hpp). Whoever plans or starts a run calls it, once a layout. No third
// party.
//
// All are made by one simulation of the workers: whoever is idle takes the first by priority of
// what he could begin now. The order is then fixed, and needs no clock.
#pragma once

#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/tasks.hpp"

namespace gangway::pipeline {

enum class SchedulePolicy {
  kByPass,  ///< all forwards of a pass, then all backwards (GPipe, arXiv 1811.06965), then a flush
  /// Backwards first, and no more forwards under way than chunks follow (PipeDream-flush, arXiv
  /// 2006.09503); then a flush.
  kOneForwardOneBackward,
  /// Nothing is flushed: what leads from update to update first, then the real pass and what else
  /// fills (NodePlan), of any step, and weight gradients last.
  kFill,
};

struct ScheduleOptions {
  SchedulePolicy policy = SchedulePolicy::kFill;
  BackwardKind backward = BackwardKind::kSplit;  ///< kFill alone; others are fused
  /// How many forwards a worker may have kept when it begins one that fills, unless nothing else
  /// could go on anywhere. 0: any number. kFill alone.
  int max_stored = 0;
  int max_open_leaves = 0;                        ///< WorkOptions
  int max_penalty_leaves = 0;                     ///< WorkOptions
  PerNetwork<std::vector<bool>> recomputes = {};  ///< WorkOptions
};

[[nodiscard]] WorkOptions work_options(const ScheduleOptions& options);

/// By worker, indices into the graph. A flush is in everybody's.
using TaskOrder = std::vector<std::vector<int>>;

/// @param graph  made with work_options(options)
[[nodiscard]] TaskOrder ordered(const TaskGraph& graph, const Costs& costs,
                                const ScheduleOptions& options);

}  // namespace gangway::pipeline
