// SPDX-License-Identifier: MIT
// The schedule of a worker where networks are apart: of the one-stage list what its networks do for
// its micro-batches, and the tensors that it sends and receives between. No third party.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/pass_share.hpp"
#include "pipeline/schedule.hpp"

namespace gangway::pipeline {

/// Of one step. What others wait for is done ahead of its micro-batch's leaf, for all micro-batches
/// of the phase, and so are forwards that wait for nobody where this worker would else wait.
///
/// Lists of all workers are parts of one order in which everything is made before it is received,
/// and a send waits for nobody, so they cannot wait for each other in a circle.
[[nodiscard]] std::vector<Instruction> apart_schedule(const PassShares& shares, std::int64_t step,
                                                      Overlap overlap);

/// Micro-batches of which the worker looks at real examples in a repeat of the phase that takes new
/// ones, in the order in which it asks for them first.
/// @param list  its own of step 0, which has all phases
/// @throws ConfigError where another phase looks at some that were not taken there, and a step
/// takes several
[[nodiscard]] std::vector<int> microbatches_with_reals(const PassShares& shares,
                                                       const std::vector<Instruction>& list);

}  // namespace gangway::pipeline
