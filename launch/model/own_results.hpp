// SPDX-License-Identifier: MIT
// What methods of a job's own step make of a checkpoint (docs/own-step.md): pictures and sounds by
// show(), figures by score(). Used by `sample` and `evaluate`. Main thread.
#pragma once

#include "launch/model/commands.hpp"

namespace gangway::launch {

/// Writes what show() makes of the first examples to options.picture, sounds beside it.
/// @pre the step has a show(). @throws ConfigError of options that are about noise
void write_shown(TrainedJob& trained, const SampleOptions& options);

/// Prints, or keeps beside the checkpoint, the means of the step's figures over batches of the
/// first evaluation.images examples, the first of which decides.
/// @pre the step has a score(). @throws ConfigError of options that are about pictures
void evaluate_own(TrainedJob& trained, const EvaluateOptions& options);

}  // namespace gangway::launch
