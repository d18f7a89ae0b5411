// SPDX-License-Identifier: MIT
// The pieces of work of workers of networks that are cut, and which of them need which: what any
// order of them has to keep to. No third party.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/pass_share.hpp"
#include "pipeline/stages/backward_stations.hpp"

namespace gangway::pipeline {

/// A repeat of a phase.
struct StageUnit {
  const Phase* phase = nullptr;
  int repeat = 0;
  std::vector<BackwardStation> stations = {};  ///< the phase's
};

/// What a worker does in one go for one micro-batch.
struct StagePiece {
  enum class Kind {
    kStation,  ///< of backwards (pipeline/stages/backward_stations.hpp)
    kForward,  ///< of a node
    kWeights,  ///< of a station that is split, the gradients of its weights
    kLeaf,     ///< where no network is cut, all that forwards have not gone ahead with
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

/// A piece of work, or a moment at which something is over.
struct PieceTask {
  int worker = -1;    ///< -1: it takes no worker's time
  double time = 0.0;  ///< in forwards of a chunk
  StagePiece piece = {};
  std::optional<int> ends_for = {};  ///< of a unit's end: for which worker
  int missing = 0;                   ///< how many things it needs
  std::vector<int> then = {};        ///< pieces that need it
  /// Of a station at which several workers wait for one another: which of the meetings.
  std::optional<int> meeting = {};
};

struct PieceGraph {
  int workers = 0;
  std::vector<PieceTask> tasks;
  /// By meeting, its tasks, of different workers. None begins before all could, and all workers
  /// come to their meetings in one order: else one might wait at this one, another at the next.
  std::vector<std::vector<int>> meetings = {};
};

struct PieceOptions {
  bool awaits_at_once = false;  ///< workers wait for new weights at each unit's end
  /// Micro-batches, each of a unit, that a worker may have begun and not have gone back through; 0:
  /// any number.
  int in_flight = 0;
};

/// Of `units`, which follow one another.
[[nodiscard]] PieceGraph piece_graph(const Layout& layout, const std::vector<StageUnit>& units,
                                     const PieceOptions& options);

}  // namespace gangway::pipeline
