// SPDX-License-Identifier: MIT
// From a run that may begin to the Conductor's settings: steps instead of kimg, the Welcome, the
// ranges. Pure.
#pragma once

#include "coordinator/mind/conductor.hpp"
#include "coordinator/resume/start.hpp"

namespace gangway::coordinator {

/// The lifeline's address is still missing in the Welcome.
[[nodiscard]] ConductorSettings conductor_settings(const StartedRun& run, int num_workers);

}  // namespace gangway::coordinator
