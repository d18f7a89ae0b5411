// SPDX-License-Identifier: MIT
// Measures how much workers on one machine slow each other: they share caches, memory bandwidth and
// the processor's clock. It forks, so only the main thread may exist. Main thread.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "launch/profile/measured_seconds.hpp"

namespace gangway::launch {

/// Returns factors of a step's seconds while 1, 2, … `most` independent processes train the job at
/// once; [0] is 1.
/// @param seconds  duration of each round; two alternating rounds per count
/// @param tell     called with the measured seconds and the next measurement
/// @throws EnvironmentError if a process cannot be created, or fails
[[nodiscard]] std::vector<double> slowdown_together(const JobSpec& job, int most, double seconds,
                                                    const MeasuredSeconds& tell);

}  // namespace gangway::launch
