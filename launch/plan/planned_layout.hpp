// SPDX-License-Identifier: MIT
// A layout that a plan considers, and who would do what under it. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "launch/plan/machines/cluster.hpp"

namespace gangway::launch {

/// Data parallel: each worker runs all networks on its micro-batches.
struct PlannedLayout {
  int workers = 1;
  Overlap overlap = Overlap::kAcross;
  /// kShm or kMpi: whether workers of a node share memory.
  TransportKind transport = TransportKind::kShm;
  bool operator==(const PlannedLayout&) const = default;
};

struct WorkerPlace {
  int node = 0;
  int device = 0;
  int host = 0;  ///< group of workers that share memory; ascending by worker
  double speed = 1.0;
  MicrobatchRange range;
};

/// The fastest nodes first, and of a node the fastest devices first; as given where they are equal.
/// @pre no more workers than the cluster has devices, nor than micro-batches
[[nodiscard]] std::vector<WorkerPlace> places_of(const PlannedLayout& layout,
                                                 const Cluster& cluster, int num_microbatches);

/// Nodes in that order.
[[nodiscard]] std::vector<int> nodes_by_speed(const Cluster& cluster);

/// "4 workers, overlap across, shm".
[[nodiscard]] std::string describe(const PlannedLayout& layout);
/// "-n 4 layout.overlap=across layout.transport=shm".
[[nodiscard]] std::string run_arguments(const PlannedLayout& layout);

}  // namespace gangway::launch
