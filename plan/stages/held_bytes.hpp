// SPDX-License-Identifier: MIT
// What a worker holds beside arenas while it runs its list: forwards that wait for their backwards,
// tensors that others sent. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/node_costs.hpp"

namespace gangway::plan {

/// At most, over a step.
[[nodiscard]] std::int64_t most_held_bytes(const std::vector<pipeline::Instruction>& list,
                                           const BlockCosts::Table& costs);

}  // namespace gangway::plan
