// SPDX-License-Identifier: MIT
// Converts a run that is ready to start to RunCore's settings: steps instead of kimg, the
// Welcome, the ranges. Called by main(). Pure.
#pragma once

#include "coordinator/core/run_core.hpp"
#include "coordinator/resume/start.hpp"

namespace gangway::coordinator {

/// Returns the settings; the Welcome still lacks the lifeline's address.
[[nodiscard]] RunCoreSettings run_core_settings(const StartedRun& run, int num_workers);

}  // namespace gangway::coordinator
