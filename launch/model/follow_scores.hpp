// SPDX-License-Identifier: MIT
// Scores that another process than the run's coordinator takes, on a machine that does not train
// (evaluation.where: spare). Main thread.
#pragma once

#include "launch/model/commands.hpp"

namespace gangway::launch {

/// `gangway evaluate RUN --follow`: waits for the run, and records the score of its newest
/// checkpoint, one after the other, until the run has ended and its last one has a score. One that
/// cannot be had costs a line. @throws EnvironmentError where nothing new comes for an hour
void follow_scores(const EvaluateOptions& options);

/// Returns once the checkpoint of `options.run.step` has a score, for the coordinator, which limits
/// the time. @throws CheckpointError where there is no such checkpoint, or a newer one has a score
void await_score(const EvaluateOptions& options);

}  // namespace gangway::launch
