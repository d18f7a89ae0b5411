// SPDX-License-Identifier: MIT
// Phases where networks are cut: each application of such a network becomes a row of applications
// of its chunks, which take what the chunk before makes, and each penalty on it a row of parts, up
// the chunks and down again. Which numbers come of it does not change.
// No third party.
#pragma once

#include <string>
#include <vector>

#include "job/layout/block_range.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"

namespace gangway::pipeline {

/// Where one network is cut.
struct NetworkCuts {
  std::vector<BlockRange> chunks = {BlockRange{}};  ///< in their order; one: it is whole
  /// By block, the tensors that flow out of it (job/layout/stage_cuts.hpp). Empty: not cut.
  std::vector<std::vector<std::string>> live = {};
  /// By block, what it makes, which may have the name of what the network takes.
  std::vector<std::vector<std::string>> made = {};

  /// Whether `tensor`, where it flows out of the first chunks up to `chunk`, is what one of their
  /// blocks makes.
  [[nodiscard]] bool is_made_by(std::size_t chunk, const std::string& tensor) const;
  /// The first chunk out of which `tensor` flows, or in which it ends; 0 where that is none.
  [[nodiscard]] int chunk_that_makes(const std::string& tensor) const;
};

/// By network, where `job`'s layout cuts it. @throws ConfigError as chunks_of
/// (job/layout/stage_cuts.hpp)
[[nodiscard]] PerNetwork<NetworkCuts> cuts_of(const Job& job, const Layout& layout);

/// Of each node of `pass` once that is cut, the node of `pass` that it is a part of.
[[nodiscard]] std::vector<int> origins_of(const Pass& pass, const PerNetwork<NetworkCuts>& cuts);

/// `phases`, which are completed, with `cuts`, completed again; themselves where nothing is cut.
///
/// What a chunk takes of the network's own inputs comes from where they are made, if no gradient
/// goes back to them; else from the chunk before, so that the gradients of what several chunks take
/// add up from the last to the first, as in a whole network.
[[nodiscard]] std::vector<Phase> cut_phases(const std::vector<Phase>& phases,
                                            const PerNetwork<NetworkCuts>& cuts);

}  // namespace gangway::pipeline
