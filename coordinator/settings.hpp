// SPDX-License-Identifier: MIT
// From a run that may begin to the Conductor's settings: steps instead of kimg, the Welcome, the
// ranges. Pure.
#pragma once

#include <optional>

#include "coordinator/conductor.hpp"
#include "coordinator/start.hpp"
#include "report/stats_file.hpp"

namespace gangway::coordinator {

/// The lifeline's address is still missing in the Welcome.
/// @param last_tick of an earlier run, to count on from.
[[nodiscard]] ConductorSettings conductor_settings(
    const StartedRun& run, int num_workers, const std::optional<report::StatsPosition>& last_tick);

}  // namespace gangway::coordinator
