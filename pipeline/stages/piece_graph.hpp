// SPDX-License-Identifier: MIT
// Builds the graph of a step's pieces of work on cut networks, and their dependencies. Any order of
// the pieces must respect it. No third party.
#pragma once

#include <optional>
#include <vector>

#include "pipeline/pass_share.hpp"
#include "pipeline/stages/backward_segments.hpp"

namespace gangway::pipeline {

/// One repeat of a phase.
struct StageUnit {
  const Phase* phase = nullptr;
  int repeat = 0;
  std::vector<BackwardSegment> segments = {};  ///< of the phase
};

/// A worker's uninterrupted work on one micro-batch.
struct StagePiece {
  enum class Kind {
    kSegment,  ///< a segment of backwards (pipeline/stages/backward_segments.hpp)
    kForward,  ///< the forward of a node
    kWeights,  ///< the weight gradients of a split segment
    kLeaf,     ///< no network is cut: all nodes without a kForward piece
    kEnd,      ///< the unit's updates, of no micro-batch
  };
  int unit = 0;  ///< index of the unit
  Kind kind = Kind::kForward;
  int microbatch = 0;
  int pass = 0;   ///< of a kForward
  int index = 0;  ///< of the node in its pass, or of the segment in its phase
};

/// Number of first nodes of `pass` that may run before the updates of `before`. It ends at the
/// first node that reads a network trained by `before`, or takes new real examples.
[[nodiscard]] int nodes_ahead(const Phase& phase, const Pass& pass, const Phase& before);

/// A piece of work, or the end of a unit or update.
struct PieceTask {
  int worker = -1;    ///< -1: no worker's time
  double time = 0.0;  ///< in units of a chunk's forward
  StagePiece piece = {};
  std::optional<int> ends_for = {};  ///< for a unit's end: the worker that reaches it
  int missing = 0;                   ///< number of unmet dependencies
  std::vector<int> then = {};        ///< tasks that depend on it
  /// For a segment at which several workers wait for each other: the index of the meeting.
  std::optional<int> meeting = {};
};

struct PieceGraph {
  int workers = 0;
  std::vector<PieceTask> tasks;
  /// By meeting, its tasks, of different workers. No task begins before all could. All workers come
  /// to meetings in one order, because otherwise two could wait for each other at different ones.
  std::vector<std::vector<int>> meetings = {};
};

struct PieceOptions {
  bool awaits_at_once = false;  ///< whether workers wait for new weights at each unit's end
  /// Most pairs of micro-batch and unit that a worker may have begun and not finished backward;
  /// 0: no limit.
  int in_flight = 0;
};

/// Builds the graph of `units`, in their order.
[[nodiscard]] PieceGraph piece_graph(const Layout& layout, const std::vector<StageUnit>& units,
                                     const PieceOptions& options);

}  // namespace gangway::pipeline
