// SPDX-License-Identifier: MIT
// Finds the cuts of networks that make the busiest stage cheapest, by the profiled costs of their
// blocks. Dynamic programming over the ends of the stages. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/node_costs.hpp"

namespace gangway::plan {

/// The costs of a chain of blocks. A run of them costs their sum, plus the costs of its two ends.
struct ChainCosts {
  std::vector<double> blocks;  ///< by block
  std::vector<double> ends;    ///< by block: cost of a cut behind it
};

/// Returns, by chain, the first block of each stage but the first. Stage i has run i of every
/// chain. Of equally good cuts, returns the first.
/// @pre at least one chain; each has at least `stages` blocks
[[nodiscard]] std::vector<std::vector<int>> best_cuts(const std::vector<ChainCosts>& chains,
                                                      int stages);

/// Returns the best cuts of each chain, without regard to the other chains.
[[nodiscard]] std::vector<std::vector<int>> cuts_alone(const std::vector<ChainCosts>& chains,
                                                       int stages);

enum class CutGoal {
  kTime,    ///< minimizes the seconds of the busiest stage, messages included
  kMemory,  ///< minimizes the bytes of the fullest stage
};

struct CutQuestion {
  std::vector<NetworkId> networks;  ///< to cut
  int stages = 2;
  /// For two networks: a V puts the second's first blocks on the stage of the first's last blocks.
  StagePlacement placement = StagePlacement::kLoop;
  /// Whether to cut each network as if it were alone, which balances every phase. Otherwise a
  /// stage's small chunk of one network makes up for its large chunk of the other.
  bool is_per_network = false;
  CutGoal goal = CutGoal::kTime;
  double seconds_per_byte = 0.0;  ///< of the links between stages
  int microbatches = 1;           ///< that a stage keeps at once
  double weights_factor = 4.0;    ///< resident bytes per byte of weights: gradients, moments
};
/// Returns cuts like best_cuts, for the networks of `question`.
[[nodiscard]] std::vector<std::vector<int>> cuts_by(const BlockCosts& costs,
                                                    const CutQuestion& question);

}  // namespace gangway::plan
