// SPDX-License-Identifier: MIT
// Describes a candidate layout and finds the device of each worker under it. Pure.
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

  /// Whether networks are cut into chunks, one per stage. An uncut network is on all workers.
  [[nodiscard]] bool has_stages() const { return choice.stages > 1; }
  /// Whether every worker holds all networks (data parallel). Otherwise each network has its own
  /// workers, which run all micro-batches, or the networks are cut into stages.
  [[nodiscard]] bool is_whole() const { return !choice.places_networks(); }
  /// Returns the number of rows of stages. Each row runs its own micro-batches.
  [[nodiscard]] int rows() const { return workers / choice.stages; }
};

/// Returns the data-parallel layout on `workers`. Ignores the placement keys of the job.
[[nodiscard]] Candidate whole_candidate(const JobSpec& job, int workers,
                                        Overlap overlap = Overlap::kAcross,
                                        TransportKind transport = TransportKind::kShm);
/// Returns the job's own layout. Fills in the cuts that `layout.stages` leaves open.
[[nodiscard]] Candidate placed_candidate(const JobSpec& job, int workers);
/// Returns `job` with the layout of `candidate`.
[[nodiscard]] JobSpec with_layout(JobSpec job, const Candidate& candidate);

struct WorkerPlace {
  int node = 0;
  int device = 0;
  int host = 0;  ///< group of workers that share memory; ascends with the worker
  double speed = 1.0;
  MicrobatchRange range;
};

/// Returns the place of each worker: the fastest nodes first, and the fastest devices of a node
/// first. Ties keep the cluster's order. Workers of a node share memory if the transport does.
/// @pre workers <= devices of the cluster, and workers <= num_microbatches
[[nodiscard]] std::vector<WorkerPlace> places_of(const Candidate& candidate, const Cluster& cluster,
                                                 int num_microbatches);

/// Returns the node numbers, highest mean device speed first.
[[nodiscard]] std::vector<int> nodes_by_speed(const Cluster& cluster);

/// Returns a line for people: "4 workers, overlap across, shm"; "3 workers, networks apart 1 + 2";
/// "8 workers, 4 x 2 stages, cuts 2 | 1,3, v, 1f1b, recompute".
[[nodiscard]] std::string describe(const Candidate& candidate);
/// Replaces a transport that cannot run there: shared memory between hosts by hierarchical, and a
/// CPU transport between GPUs by NCCL, or by auto if it shares memory.
[[nodiscard]] Candidate runnable(Candidate candidate, const JobSpec& job, const Cluster& cluster);
/// Returns the settings (`key=value`) that `job` still needs for this layout.
[[nodiscard]] std::vector<std::string> layout_keys(const Candidate& candidate, const JobSpec& job);
/// Returns the worker count and these settings as arguments: "-n 4 layout.transport=shm".
[[nodiscard]] std::string run_arguments(const Candidate& candidate, const JobSpec& job);

/// One line of a hostfile.
struct HostSlots {
  std::string name;
  int slots = 0;  ///< workers on this host
};
/// Returns the hosts in the order in which the hostfile must list them.
[[nodiscard]] std::vector<HostSlots> hosts_of(const Candidate& candidate, const Cluster& cluster);

}  // namespace gangway::plan
