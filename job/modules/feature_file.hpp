// SPDX-License-Identifier: MIT
// Where the feature network of `evaluation.features` lies. Its content decides no weight, so that
// it is neither kept nor hashed with the job: a score names the network that it was taken with.
#pragma once

#include "job/evaluation.hpp"

namespace gangway {

/// From now on the file is named wherever the program stands. The word `inception` is replaced by
/// the first inception-2015-12-05.pt of: here, ~/.cache/gangway, /tmp (where clean-fid leaves it).
/// @throws ConfigError where there is no such file
void settle_features(EvaluationSpec& evaluation);

}  // namespace gangway
