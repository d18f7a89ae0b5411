// SPDX-License-Identifier: MIT
// A layout that a plan considers, and the place of each worker under it. Pure.
#pragma once

#include <string>
#include <vector>

#include "job/layout/microbatch_ranges.hpp"
#include "job/spec.hpp"
#include "plan/machines/cluster.hpp"

namespace gangway::plan {

struct Candidate {
  int workers = 1;
  LayoutChoice choice;
  bool operator==(const Candidate&) const = default;

  /// Whether networks are cut into chunks, one a stage; what is not cut is on all workers.
  [[nodiscard]] bool has_stages() const { return choice.stages > 1; }
  /// Whether each worker has all networks, on its micro-batches: data parallel. Else each network
  /// has workers of its own, which share all micro-batches, or there are stages.
  [[nodiscard]] bool is_whole() const { return !choice.places_networks(); }
  /// Rows of stages, each with some of the micro-batches.
  [[nodiscard]] int rows() const { return workers / choice.stages; }
};

/// All networks on each of `workers`: the placement keys of the job are ignored.
[[nodiscard]] Candidate whole_candidate(const JobSpec& job, int workers,
                                        Overlap overlap = Overlap::kAcross,
                                        TransportKind transport = TransportKind::kShm);
/// `job` as its own layout places it, with the cuts that `layout.stages` leaves open.
[[nodiscard]] Candidate placed_candidate(const JobSpec& job, int workers);
/// `job` laid out so.
[[nodiscard]] JobSpec with_layout(JobSpec job, const Candidate& candidate);

struct WorkerPlace {
  int node = 0;
  int device = 0;
  int host = 0;  ///< group of workers that share memory; ascending by worker
  double speed = 1.0;
  MicrobatchRange range;
};

/// The fastest nodes first, and of a node the fastest devices first; as given where they are equal.
/// Workers of a node share memory, but for the transport mpi.
/// @pre no more workers than the cluster has devices, nor than micro-batches
[[nodiscard]] std::vector<WorkerPlace> places_of(const Candidate& candidate, const Cluster& cluster,
                                                 int num_microbatches);

/// Nodes in that order.
[[nodiscard]] std::vector<int> nodes_by_speed(const Cluster& cluster);

/// "4 workers, overlap across, shm"; "3 workers, networks apart 1 + 2"; "8 workers, 4 x 2 stages,
/// cuts 2 | 1,3, v, 1f1b, recompute".
[[nodiscard]] std::string describe(const Candidate& candidate);
/// The candidate with a transport that there is between its workers: between hosts no shared
/// memory, and between GPUs NCCL.
[[nodiscard]] Candidate runnable(Candidate candidate, const JobSpec& job, const Cluster& cluster);
/// Keys that `job` is to be told to be laid out so, where it does not say that itself.
[[nodiscard]] std::vector<std::string> layout_keys(const Candidate& candidate, const JobSpec& job);
/// The same, and for how many: "-n 4 layout.transport=shm".
[[nodiscard]] std::string run_arguments(const Candidate& candidate, const JobSpec& job);

/// Of a hostfile.
struct HostSlots {
  std::string name;
  int slots = 0;  ///< workers on it
};
/// In the order in which a hostfile has to name them.
[[nodiscard]] std::vector<HostSlots> hosts_of(const Candidate& candidate, const Cluster& cluster);

}  // namespace gangway::plan
