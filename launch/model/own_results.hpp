// SPDX-License-Identifier: MIT
// Results of a job's own step on a checkpoint (docs/own-step.md): pictures and sounds of its
// show(), figures of its score(). Called by `sample` and `evaluate`. Main thread.
#pragma once

#include "launch/model/commands.hpp"

namespace gangway::launch {

/// Writes the output of show() for the first examples to options.picture, with sounds beside it.
/// @pre the step has a show(). @throws ConfigError for options about noise
void write_shown(TrainedJob& trained, const SampleOptions& options);

/// Prints the means of the step's figures over the first evaluation.images examples, or stores them
/// beside the checkpoint. The first figure decides.
/// @pre the step has a score(). @throws ConfigError for options about pictures
void evaluate_own(TrainedJob& trained, const EvaluateOptions& options);

}  // namespace gangway::launch
