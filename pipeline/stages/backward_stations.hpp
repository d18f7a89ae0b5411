// SPDX-License-Identifier: MIT
// In which order the backwards of a phase come where networks are cut
// (pipeline/stages/stage_schedule.hpp). No third party.
#pragma once

#include <compare>
#include <vector>

#include "pipeline/pass_share.hpp"

namespace gangway::pipeline {

/// What of a phase's backwards belongs together: all of one chunk that the phase trains, which has
/// one leaf open at a time, or one application of a chunk that it does not train.
struct BackwardStation {
  struct Item {
    int pass = 0;
    int node = 0;
    auto operator<=>(const Item&) const = default;
  };
  std::vector<Home> trained;  ///< whose leaves are opened for it; more than one where each waits
                              ///< for another's
  std::vector<Item> items;    ///< by pass, then from the last node to the first
  /// Whether gradients of weights come apart from those of inputs (docs/pipeline-stages.md).
  bool is_split = false;
};

/// Whether all of its backwards give gradients on, behind which those of weights can come:
/// penalties have theirs together.
[[nodiscard]] bool can_be_split(const Phase& phase, const BackwardStation& station);

/// In an order in which each finds what the others give it.
[[nodiscard]] std::vector<BackwardStation> backward_stations(const Phase& phase,
                                                             const Layout& layout);

}  // namespace gangway::pipeline
