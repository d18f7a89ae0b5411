// SPDX-License-Identifier: MIT
// Orders the pieces of a step on workers of cut networks with small bubbles: instead of waiting in
// one phase, a worker runs forwards of the next. No third party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// Returns the pieces of each worker, each after its inputs. Pieces of `units[i + 1]` that need no
/// update of `units[i]` may come before the end of `units[i]`. Assumes fixed times of pieces. Every
/// worker gets the same result.
[[nodiscard]] std::vector<std::vector<StagePiece>> fill_order(const Layout& layout,
                                                              const std::vector<StageUnit>& units,
                                                              const PieceOptions& options);

}  // namespace gangway::pipeline
