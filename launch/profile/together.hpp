// SPDX-License-Identifier: MIT
// How much slower a worker computes where others do beside it: they share caches and memory, and
// the clock of the processor. Main thread, before the process has another one: it forks.
#pragma once

#include <vector>

#include "job/spec.hpp"
#include "launch/profile/measured_seconds.hpp"

namespace gangway::launch {

/// Factors of the seconds of a step where 1, 2, … `most` independent processes train the job at
/// once; [0] is 1.
/// @param seconds  for which each round measures; two rounds of each count, in turns
/// @param tell     called with seconds that were measured and what is measured next
/// @throws EnvironmentError where a process cannot be made, or fails
[[nodiscard]] std::vector<double> slowdown_together(const JobSpec& job, int most, double seconds,
                                                    const MeasuredSeconds& tell);

}  // namespace gangway::launch
