// SPDX-License-Identifier: MIT
// Scores a run in a process other than its coordinator, on a machine that does not train
// (evaluation.where: spare). Main thread.
#pragma once

#include "launch/model/commands.hpp"

namespace gangway::launch {

/// `gangway evaluate RUN --follow`: scores the run's newest checkpoint, repeatedly. Waits for the
/// run first, and returns once it has ended and its last checkpoint has a score. Prints a line for
/// a score that fails. @throws EnvironmentError after an hour without a new checkpoint
void follow_scores(const EvaluateOptions& options);

/// Returns once the checkpoint of `options.run.step` has a score; the coordinator limits the time.
/// @throws CheckpointError if that checkpoint is missing, or a newer one already has a score
void await_score(const EvaluateOptions& options);

}  // namespace gangway::launch
