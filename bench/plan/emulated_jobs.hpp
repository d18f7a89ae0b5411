// SPDX-License-Identifier: MIT
// Makes emulated jobs, machines and costs. The costs are invented: round numbers, and much longer
// than a thread's wake-up. Pure.
#pragma once

#include <memory>
#include <string>

#include "plan/ranking/make_plan.hpp"

namespace gangway::bench {

/// Which blocks of a network cost most.
enum class BlockShape {
  kEven,
  kImages,  ///< blocks near the images: convolutions at high resolution
  kDense,   ///< first blocks of the generator, last ones of the discriminator
  /// Sixteen equal blocks and cheap updates, to measure the bubble of equal stages.
  kSixteen,
};

/// Nodes with equal numbers of devices, and the links between them.
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
