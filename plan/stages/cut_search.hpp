// SPDX-License-Identifier: MIT
// Where networks are cut so that the dearest stage costs least, by what a profile measured of their
// blocks: dynamic programming over the ends of the stages. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/node_costs.hpp"

namespace gangway::plan {

/// What a run of blocks costs, as sums of what its blocks cost, and what ending it there does.
struct ChainCosts {
  std::vector<double> blocks;  ///< by block
  std::vector<double> ends;    ///< by block: where the chain is cut behind it
};

/// By chain, the blocks with which the second stage and those behind it begin. Stage i has run i of
/// every chain. Among as good ones, the first.
/// @pre one chain or more, each of at least `stages` blocks
[[nodiscard]] std::vector<std::vector<int>> best_cuts(const std::vector<ChainCosts>& chains,
                                                      int stages);

/// Each chain as if it were alone.
[[nodiscard]] std::vector<std::vector<int>> cuts_alone(const std::vector<ChainCosts>& chains,
                                                       int stages);

enum class CutGoal {
  kTime,    ///< the seconds of the busiest stage, messages included
  kMemory,  ///< the bytes of the fullest
};

struct CutQuestion {
  std::vector<NetworkId> networks;  ///< that are cut
  int stages = 2;
  /// Of two networks: in a V the second one's first blocks are beside the first one's last.
  StagePlacement placement = StagePlacement::kLoop;
  /// Each network as if it were alone: then every phase is shared out well, whichever it trains.
  /// Else what one network's chunks take less is made up for by the other's, over all phases.
  bool are_alone = false;
  CutGoal goal = CutGoal::kTime;
  double seconds_per_byte = 0.0;  ///< of the links between stages
  int microbatches = 1;           ///< that a stage keeps at once
  double weights_factor = 4.0;    ///< bytes resident for one of a weight: gradients, moments
};
/// As best_cuts, of the networks asked about.
[[nodiscard]] std::vector<std::vector<int>> cuts_by(const BlockCosts& costs,
                                                    const CutQuestion& question);

}  // namespace gangway::plan
