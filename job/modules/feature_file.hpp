// SPDX-License-Identifier: MIT
// Locates the feature network of `evaluation.features`. It affects no weight, so it is neither kept
// nor hashed with the job; a score names its network.
#pragma once

#include "job/evaluation.hpp"

namespace gangway {

/// Replaces the file's path by an absolute one. Replaces the word `inception` by the first
/// inception-2015-12-05.pt of: here, ~/.cache/gangway, /tmp (where clean-fid leaves it).
/// @throws ConfigError if there is no such file
void settle_features(EvaluationSpec& evaluation);

}  // namespace gangway
