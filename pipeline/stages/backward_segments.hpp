// SPDX-License-Identifier: MIT
// Orders the backwards of a phase for networks that are cut (pipeline/stages/stage_schedule.hpp).
// No third party.
#pragma once

#include <compare>
#include <vector>

#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// A group of a phase's backwards: all of one trained chunk, with one leaf open at a time, or one
/// application of a chunk that is not trained.
struct BackwardSegment {
  struct Item {
    int pass = 0;
    int node = 0;
    auto operator<=>(const Item&) const = default;
  };
  std::vector<ChunkId> trained;  ///< chunks whose leaves it opens; several if they wait for
                                 ///< each other
  std::vector<Item> items;       ///< by pass, then from the last node to the first
  /// Whether weight gradients are computed apart from input gradients (docs/pipeline-stages.md).
  bool is_split = false;
};

/// Whether all its backwards give gradients to another node, so that weight gradients can come
/// later. Penalties compute both together.
[[nodiscard]] bool can_be_split(const Phase& phase, const BackwardSegment& segment);

/// Returns the phase's segments in an order in which each segment's gradients come before it.
[[nodiscard]] std::vector<BackwardSegment> backward_segments(const Phase& phase,
                                                             const Layout& layout);

}  // namespace gangway::pipeline
