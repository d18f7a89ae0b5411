// SPDX-License-Identifier: MIT
// The usual layouts of networks on a row of workers, and copies of such a row. No third party.
#pragma once

#include <vector>

#include "pipeline/layout/layout.hpp"

namespace gangway::pipeline {

enum class Placement {
  kLoop,  ///< chunk i of every network on worker i: what leaves the last goes back to the first
  kV,     ///< the first network as in a loop, the others the other way round
  kTwoChunks,  ///< two chunks of every network on each worker, down the row and back up
};

/// One replica on the workers [0, num_workers). @param blocks  number of each network's
/// @throws ConfigError where a network has fewer blocks than it would have chunks
[[nodiscard]] Layout placed(Placement placement, int num_workers, int num_microbatches,
                            const PerNetwork<int>& blocks);

/// Each network alone on consecutive workers, `counts` of them: one chunk each. Networks apart.
[[nodiscard]] Layout placed_apart(const PerNetwork<int>& counts, int num_microbatches,
                                  const PerNetwork<int>& blocks);

/// Whole networks, each on a group of workers of its own, as many as `groups` says, which share its
/// micro-batches evenly: 1 for the generator and 3 for the discriminator, say.
[[nodiscard]] Layout groups_apart(const PerNetwork<int>& groups, int num_microbatches,
                                  const PerNetwork<int>& blocks);

/// Copies of `one`, a layout of a single replica, each on workers of its own and with an even share
/// of `num_microbatches`.
[[nodiscard]] Layout replicated(const Layout& one, int num_replicas, int num_microbatches);

/// The blocks cut into runs so that the dearest run costs least. @param block_costs  of each
/// @throws ConfigError where there are fewer blocks than chunks
[[nodiscard]] std::vector<Chunk> balanced_chunks(const std::vector<double>& block_costs,
                                                 int num_chunks);

}  // namespace gangway::pipeline
