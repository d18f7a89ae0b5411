// SPDX-License-Identifier: MIT
// Checks the user's networks and libraries with gangway-model, which has LibTorch. Called before a
// run is made, and by --dry-run; the workers check again. Main thread.
#pragma once

#include "job/spec.hpp"

namespace gangway::launch {

/// Whether the job has networks or a library of the user's, which inspect_own_networks tries.
[[nodiscard]] bool has_own_networks(const JobSpec& job);

/// Sets the parameter counts of the job's own networks; leaves them unset if gangway-model is not
/// built yet. Starts no program for a job without own networks or libraries.
/// @throws ConfigError of one line for a file that cannot be trained
void inspect_own_networks(JobSpec& job);

}  // namespace gangway::launch
