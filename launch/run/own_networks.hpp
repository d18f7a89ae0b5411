// SPDX-License-Identifier: MIT
// Checks the user's networks and libraries with gangway-model, which has LibTorch. Called before a
// run is made, and by --dry-run; the workers check again. Main thread.
#pragma once

#include <string>
#include <vector>

#include "job/spec.hpp"

namespace gangway::launch {

/// Returns the user's files that inspect_own_networks tries; none: the job has Gangway's networks.
[[nodiscard]] std::vector<std::string> files_of_own_networks(const JobSpec& job);

/// Sets the parameter counts of the job's own networks; leaves them unset if gangway-model is not
/// built yet. Prints which files it tries, because Python takes seconds. Starts no program for a
/// job without own networks or libraries.
/// @throws ConfigError of one line for a file that cannot be trained; EnvironmentError if the trial
/// is killed or takes 10 minutes
void inspect_own_networks(JobSpec& job);

}  // namespace gangway::launch
