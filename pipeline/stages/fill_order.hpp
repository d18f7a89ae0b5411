// SPDX-License-Identifier: MIT
// Orders the pieces of a step on workers of networks that are cut, with small bubbles: a worker
// that would wait in one phase goes ahead with forwards of the next. No third party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// By worker, all of its pieces, each behind its inputs; pieces of `units[i + 1]` that need no
/// update of `units[i]` may come before that one's end. Assumes equal times of all pieces. Every
/// worker gets the same result.
[[nodiscard]] std::vector<std::vector<StagePiece>> fill_order(const Layout& layout,
                                                              const std::vector<StageUnit>& units,
                                                              const PieceOptions& options);

}  // namespace gangway::pipeline
