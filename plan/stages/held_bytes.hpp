// SPDX-License-Identifier: MIT
// Computes the bytes that a worker holds beside its arenas while it runs its list: forwards that
// wait for their backwards, and received tensors. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/node_costs.hpp"

namespace gangway::plan {

/// Returns the maximum over a step.
[[nodiscard]] std::int64_t most_held_bytes(const std::vector<pipeline::Instruction>& list,
                                           const BlockCosts::Table& costs);

}  // namespace gangway::plan
