// SPDX-License-Identifier: MIT
// In which order a worker does its pieces of a step where no network is cut: leaf after leaf. No
// third party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// Where networks are apart, forwards whose outputs other workers need come ahead of the leaves,
/// for all micro-batches of the unit. So do forwards without remote inputs, where this worker would
/// wait otherwise.
[[nodiscard]] std::vector<StagePiece> leaf_order(const PassShares& shares,
                                                 const std::vector<StageUnit>& units);

}  // namespace gangway::pipeline
