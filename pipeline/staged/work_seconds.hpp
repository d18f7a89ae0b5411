// SPDX-License-Identifier: MIT
// What an instruction, and a message between two workers, cost. For generators and the simulator.
#pragma once

#include <cstdint>

#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/instruction.hpp"

namespace gangway::pipeline {

/// Of `worker`'s compute; zero for those that only wait or hand over.
[[nodiscard]] double seconds_of(const StageInstruction& what, int worker, const Costs& costs);

/// How messages go from one worker to another.
[[nodiscard]] Link link_of(int from, int to, const Links& links);

}  // namespace gangway::pipeline
