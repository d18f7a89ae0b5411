// SPDX-License-Identifier: MIT
// Proves that lists of instructions compute what a job's phases mean: the same weights as one
// worker that does everything in order, and that they come to their end. Whoever runs or simulates
// lists that a person or a generator made calls it first. No third party.
#pragma once

#include <string>
#include <vector>

#include "pipeline/costs/costs.hpp"
#include "pipeline/layout/layout.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/staged/instruction.hpp"
#include "pipeline/staged/tasks.hpp"
#include "pipeline/staged/tensors.hpp"
#include "pipeline/validator/followed_worker.hpp"
#include "pipeline/validator/task_index.hpp"

namespace gangway::pipeline {

/// The lists are followed in order on all workers at once, as the executor does: a receive waits
/// for the next message of its peer, a send for nothing, new weights for all that have the chunk,
/// and exchanges begin on each worker in its own order. Proved of a list without violations:
///
/// - Each task of the steps is done once, by the worker that the layout says, on the weights that
///   the order of phases says, and behind all that it takes something of.
/// - What is added to a leaf while it is open is all of its micro-batch, in declared order where
///   order matters; leaves are closed in ascending order.
/// - Each message is of something that was made and is wanted, has its size, and is received; those
///   between two workers in the order of sending.
/// - All exchanges can be begun in one order on all workers, and each is awaited.
/// - Everything that is held is let go of, not before its last use, and no more is held than
/// allowed.
class ScheduleValidator {
 public:
  /// @param phases  completed @param costs  bytes count @pre check(layout)
  ScheduleValidator(const std::vector<Phase>& phases, const Layout& layout, int first_step,
                    int num_steps, WorkOptions options, Costs costs, PerNetwork<std::string> names);

  /// One line each, naming worker and line of its list; the first of each worker, since what comes
  /// behind it follows from it. None: the schedule is sound.
  [[nodiscard]] std::vector<std::string> violations(const StageSchedule& schedule,
                                                    const HoldingLimits& limits = {}) const;

 private:
  PerNetwork<std::string> names_;
  Costs costs_;
  TaskGraph graph_;
  Tensors tensors_;
  TaskIndex index_;
};

}  // namespace gangway::pipeline
