// SPDX-License-Identifier: MIT
// A layout that a plan considers, and who would do what under it. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "plan/machines/cluster.hpp"

namespace gangway::plan {

/// Who has what.
enum class LayoutShape {
  kWhole,   ///< each worker all networks, on its micro-batches: data parallel
  kApart,   ///< each network workers of its own, which share all micro-batches
  kStages,  ///< networks cut into chunks, one a stage; what is not cut is on all workers
};

struct PlannedLayout {
  int workers = 1;
  Overlap overlap = Overlap::kAcross;
  /// kShm or kMpi: whether workers of a node share memory.
  TransportKind transport = TransportKind::kShm;
  LayoutShape shape = LayoutShape::kWhole;
  int stages = 1;                ///< chunks of each network that is cut
  std::vector<int> groups = {};  ///< kApart: workers of each network
  /// kStages: of each network the blocks with which chunks begin, but the first; none: it is whole.
  std::vector<std::vector<int>> cuts = {};
  StagePlacement placement = StagePlacement::kLoop;  ///< kStages
  StageOrder schedule = StageOrder::kFill;           ///< kStages
  int in_flight = 0;       ///< kStages: micro-batches under way on a worker; 0: as the schedule
  bool recompute = false;  ///< what networks make inside is made again for backward
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

/// "4 workers, overlap across, shm"; "3 workers, networks apart 1 + 2"; "8 workers, 4 x 2 stages,
/// cuts 2 | 1,3, v, 1f1b, recompute".
[[nodiscard]] std::string describe(const PlannedLayout& layout);
/// What `job` is to be told to be laid out so: "layout.overlap=across", "layout.transport=shm".
[[nodiscard]] std::vector<std::string> job_keys(const PlannedLayout& layout, const JobSpec& job);
/// "-n 4 layout.overlap=across layout.transport=shm".
[[nodiscard]] std::string run_arguments(const PlannedLayout& layout, const JobSpec& job);

}  // namespace gangway::plan
