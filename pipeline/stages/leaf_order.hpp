// SPDX-License-Identifier: MIT
// In which order a worker does its pieces of a step where no network is cut: leaf after leaf. No
// third party.
#pragma once

#include <vector>

#include "pipeline/stages/piece_graph.hpp"

namespace gangway::pipeline {

/// Where networks are apart, what others wait for is done ahead of its micro-batch's leaf, for all
/// micro-batches of the unit, and so are forwards that wait for nobody where this worker would else
/// wait.
[[nodiscard]] std::vector<StagePiece> leaf_order(const PassShares& shares,
                                                 const std::vector<StageUnit>& units);

}  // namespace gangway::pipeline
