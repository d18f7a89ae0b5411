// SPDX-License-Identifier: MIT
// Orders a worker's pieces of a step if no network is cut: leaf after leaf. No third party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// If networks are apart, forwards whose outputs other workers need come before the leaves, for all
/// micro-batches of the unit. So do forwards without remote inputs, if this worker would wait
/// otherwise.
[[nodiscard]] std::vector<StagePiece> leaf_order(const PassShares& shares,
                                                 const std::vector<StageUnit>& units);

}  // namespace gangway::pipeline
