// SPDX-License-Identifier: MIT
// In which order workers of networks that are cut do their pieces of a step so that they wait
// little: whoever waits for others in one phase goes ahead with forwards of the next. No third
// party.
#pragma once

#include <vector>

#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// A repeat of a phase.
struct StageUnit {
  const Phase* phase = nullptr;
  int repeat = 0;
};

/// What a worker does in one go for one micro-batch.
struct StagePiece {
  enum class Kind {
    kStation,  ///< of backwards (pipeline/backward_stations.hpp)
    kForward,  ///< of a node
    kEnd,      ///< the unit's: its updates, of no micro-batch
  };
  int unit = 0;  ///< index of it
  Kind kind = Kind::kForward;
  int microbatch = 0;
  int pass = 0;   ///< of a forward
  int index = 0;  ///< of the node in its pass, or of the station in its phase
};

/// Nodes of the pass before the first that looks at what `before` trains, or at examples that come
/// in the place of those which it looks at: they may be carried out before its updates.
[[nodiscard]] int nodes_ahead(const Phase& phase, const Pass& pass, const Phase& before);

/// By worker, all of its pieces, each behind what it needs; those of `units[i + 1]` that need
/// nothing of the updates of `units[i]` may come before that one's end. Worked out as if work took
/// as long everywhere; the same for all who ask.
/// @param awaits_at_once  whether workers wait for new weights at each unit's end
[[nodiscard]] std::vector<std::vector<StagePiece>> fill_order(
    const PerNetwork<NetworkGroup>& groups, const std::vector<StageUnit>& units,
    bool awaits_at_once);

}  // namespace gangway::pipeline
