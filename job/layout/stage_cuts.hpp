// Cuts the networks of a job into chunks, runs of blocks on different workers
// (docs/pipeline-stages.md), and lists the tensors that cross a cut. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/block_range.hpp"
#include "job/models/architecture.hpp"
#include "job/spec.hpp"

namespace gangway {

/// Returns the ends of `runs` runs of `costs`, such that the costliest run costs least.
/// @pre 1 <= runs <= costs
[[nodiscard]] std::vector<int> balanced_ends(const std::vector<double>& costs, int runs);

/// Guesses the time of each block, in multiply-adds for one example of a micro-batch: its products
/// and the values that it moves to and from memory. Of a network with blocks in the user's code:
/// each block's share of the weights and of the blocks. @param images  of a micro-batch
[[nodiscard]] std::vector<double> guessed_costs(const Architecture& network, const ModelSpec& model,
                                                int images);

/// Returns, by network, its chunks in order; a whole network has one.
/// @throws ConfigError, one line with the remedy, if a network has no such block
[[nodiscard]] PerNetwork<std::vector<BlockRange>> chunks_of(const Job& job,
                                                            const LayoutChoice& choice);

/// Returns, by block, the names of the tensors that flow out of it (live_after).
[[nodiscard]] std::vector<std::vector<std::string>> live_tensors(const Architecture& network);
/// Returns, by block, the names of the tensors that it makes.
[[nodiscard]] std::vector<std::vector<std::string>> made_tensors(const Architecture& network);

}  // namespace gangway
