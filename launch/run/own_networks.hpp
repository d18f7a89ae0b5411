// SPDX-License-Identifier: MIT
// Networks and libraries of the user's are looked at before a run is made, and by --dry-run: by
// gangway-model, which has LibTorch. The workers look again. Main thread.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// Fills in how many parameters the job's own networks have. Where gangway-model is not built yet
/// they stay uncounted.
/// @throws ConfigError of one line for a file that cannot be trained; nothing is started for a job
/// without such files or a library
void inspect_own_networks(JobSpec& job);

}  // namespace gangway::launch
