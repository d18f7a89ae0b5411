// SPDX-License-Identifier: MIT
// Where the layout cuts the networks of a job into chunks, runs of blocks that different workers
// hold (docs/pipeline-stages.md), and what flows where a network is cut. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/block_range.hpp"
#include "job/models/architecture.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Ends of the runs that `costs` is cut into so that the dearest of them costs least.
/// @pre 1 <= runs <= costs
[[nodiscard]] std::vector<int> balanced_ends(const std::vector<double>& costs, int runs);

/// Cost of each block relative to its network: half is its share of the weights, for memory, half
/// its share of the blocks, for time that is not measured yet.
[[nodiscard]] std::vector<double> guessed_costs(const Architecture& network);

/// By network, its chunks in their order; one that is whole has one.
/// @throws ConfigError, one line with the remedy, where a network has no such block
[[nodiscard]] PerNetwork<std::vector<BlockRange>> chunks_of(const Job& job,
                                                            const LayoutChoice& choice);

/// By block, names of the tensors that flow out of it (live_behind).
[[nodiscard]] std::vector<std::vector<std::string>> live_tensors(const Architecture& network);
/// By block, names of the tensors that it makes.
[[nodiscard]] std::vector<std::vector<std::string>> made_tensors(const Architecture& network);

}  // namespace gangway
