// SPDX-License-Identifier: MIT
// Rewrites phases for networks that are cut. An application becomes one application per chunk; each
// takes the outputs of the chunk before. A penalty becomes parts that go up the chunks and down
// again. The computed numbers stay equal. No third party.
#pragma once

#include <string>
#include <vector>

#include "job/layout/layout.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// The cuts of one network.
struct NetworkCuts {
  std::vector<BlockRange> chunks = {BlockRange{}};  ///< in network order; one: not cut
  /// By block, the tensors that flow out of it (job/layout/stage_cuts.hpp). Empty: not cut.
  std::vector<std::vector<std::string>> live = {};
  /// By block, the names of the tensors that it makes; they may equal names of network inputs.
  std::vector<std::vector<std::string>> made = {};

  [[nodiscard]] ChunkIndex last() const { return ChunkIndex(static_cast<int>(chunks.size()) - 1); }
  /// Whether a block of the first chunks, up to `chunk`, makes `tensor`. If not, it is an input of
  /// the network that flows through.
  [[nodiscard]] bool is_made_by(ChunkIndex chunk, const std::string& tensor) const;
  /// The first chunk out of which `tensor` flows, or in which it ends; 0 if there is none.
  [[nodiscard]] ChunkIndex chunk_that_makes(const std::string& tensor) const;
};

/// Returns the cuts of each network in `layout`, which is the job's. @throws ConfigError as
/// chunks_of (job/layout/stage_cuts.hpp)
[[nodiscard]] PerNetwork<NetworkCuts> cuts_of(const Job& job, const Layout& layout);

/// By node of the cut `pass`: the node of `pass` that it is a part of.
[[nodiscard]] std::vector<int> origins_of(const Pass& pass, const PerNetwork<NetworkCuts>& cuts);

/// Returns `phases` with `cuts`, completed again; `phases` if no network is cut. @pre completed
///
/// A chunk takes a network input from its maker if no gradient goes back to it. Otherwise it takes
/// it from the chunk before, so that the chunks' gradients are added from the last chunk to the
/// first, as in a whole network.
[[nodiscard]] std::vector<Phase> cut_phases(const std::vector<Phase>& phases,
                                            const PerNetwork<NetworkCuts>& cuts);

}  // namespace gangway::pipeline
