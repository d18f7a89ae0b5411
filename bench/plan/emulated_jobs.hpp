// SPDX-License-Identifier: MIT
// Emulated jobs, machines and costs. Costs are invented: round, and long beside the time in which
// threads wake up. Pure.
#pragma once

#include <memory>
#include <string>

#include "plan/ranking/make_plan.hpp"

namespace gangway::bench {

/// Which blocks of a network are dear.
enum class BlockShape {
  kEven,
  kImages,  ///< those near the images: convolutions at high resolution
  kDense,   ///< the first of the generator and the last of the discriminator
  /// Sixteen blocks of many, all alike, beside updates that cost little: for bubbles of equal
  /// stages.
  kSixteen,
};

/// Nodes, devices each, and what connects them.
struct Machines {
  std::string name;
  int nodes = 1;
  int devices = 1;
  double rate = 1e9;              ///< bytes a second between nodes
  double slowest = 1.0;           ///< speed of the last device
  std::int64_t memory_bytes = 0;  ///< of a device; 0: everything fits
};

struct PlanCase {
  Machines machines;
  int microbatches = 4;
  BlockShape shape = BlockShape::kEven;
};

/// @param slower  factor on all costs
[[nodiscard]] std::unique_ptr<plan::Planner> emulated_planner(const PlanCase& of, double slower);

}  // namespace gangway::bench
