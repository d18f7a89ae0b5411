// SPDX-License-Identifier: MIT
// Records the inputs of each block when a job trains, by one forward of the passes' graphs. Shapes,
// formats and precisions are those of training; the values are arbitrary. Compute thread.
#pragma once

#include <optional>
#include <vector>

#include "gan/network.hpp"
#include "launch/profile/one_worker.hpp"

namespace gangway::launch {

struct BlockInput {
  gan::NamedTensors tensors;
  gan::ForwardContext context;
};

/// Returns inputs by block, from the first application of its network; nullopt for networks that no
/// pass applies. @pre `worker` has run a step
[[nodiscard]] PerNetwork<std::vector<std::optional<BlockInput>>> block_inputs(OneWorker& worker);

}  // namespace gangway::launch
