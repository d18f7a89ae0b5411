// SPDX-License-Identifier: MIT
// Lists whose real examples a worker needs if networks are apart. No third party.
#pragma once

#include <vector>

#include "pipeline/instruction.hpp"
#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// Returns the micro-batches whose real examples the worker reads in a repeat of the phase that
/// takes new ones, in order of first use.
/// @param list  the worker's own list of step 0, which has all phases
/// @throws ConfigError if a step takes several batches and another phase reads real examples that
/// the worker has not read there
[[nodiscard]] std::vector<int> microbatches_with_reals(const PassShares& shares,
                                                       const std::vector<Instruction>& list);

}  // namespace gangway::pipeline
