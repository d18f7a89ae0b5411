// SPDX-License-Identifier: MIT
// What each block of each network is given when a job trains: the passes' graphs carried out once,
// forward only. Shapes, formats and precisions are training's; of the values nothing depends.
// Compute thread.
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

/// By block, as the first application of its network has it; nothing of networks that no pass
/// applies. @pre `worker` has run a step
[[nodiscard]] PerNetwork<std::vector<std::optional<BlockInput>>> block_inputs(OneWorker& worker);

}  // namespace gangway::launch
