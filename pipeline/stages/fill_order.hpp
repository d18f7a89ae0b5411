// SPDX-License-Identifier: MIT
// In which order workers of networks that are cut do their pieces of a step so that they wait
// little: whoever waits for others in one phase goes ahead with forwards of the next. No third
// party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// By worker, all of its pieces, each behind what it needs; those of `units[i + 1]` that need
/// nothing of the updates of `units[i]` may come before that one's end. Worked out as if work took
/// as long everywhere; the same for all who ask.
[[nodiscard]] std::vector<std::vector<StagePiece>> fill_order(const Layout& layout,
                                                              const std::vector<StageUnit>& units,
                                                              const PieceOptions& options);

}  // namespace gangway::pipeline
