// SPDX-License-Identifier: MIT
// Whose real examples a worker looks at where networks are apart. No third party.
#pragma once

#include <vector>

#include "pipeline/instruction.hpp"
#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// Micro-batches of which the worker looks at real examples in a repeat of the phase that takes new
/// ones, in the order in which it asks for them first.
/// @param list  its own of step 0, which has all phases
/// @throws ConfigError where another phase looks at some that were not taken there, and a step
/// takes several
[[nodiscard]] std::vector<int> microbatches_with_reals(const PassShares& shares,
                                                       const std::vector<Instruction>& list);

}  // namespace gangway::pipeline
