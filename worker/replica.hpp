// SPDX-License-Identifier: MIT
// Holds a worker's replica of the job's networks in memory shared by its host's workers: lays it
// out, places it on the device, and connects to the host's other workers. Compute thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/host/host_group.hpp"
#include "comm/host/host_memory.hpp"
#include "comm/host/host_streams.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/layout/layout.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"
#include "worker/state/image_pools.hpp"
#include "worker/step/compute_device.hpp"

namespace gangway::worker {

/// The layout of a job, and one worker's place in it.
struct Placement {
  int worker = 0;
  const Layout& layout;            ///< outlives this
  std::vector<int> hosts;          ///< by worker: equal where memory is shared
  std::vector<int> machines = {};  ///< by worker: equal where it could be; empty: nowhere
};

class Replica {
 public:
  /// Makes the networks, initialised by the job's seed. All workers of the host call it.
  /// @throws EnvironmentError where there is no memory; CommError naming a silent worker.
  Replica(const Job& job, Placement placement, comm::HostMemory memory, ComputeDevice& device);

  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] PerNetwork<NetworkState*> networks();
  /// Returns the micro-batches' pools of earlier images; null: the job has none.
  [[nodiscard]] ImagePools* pools() { return pools_.get(); }
  /// Returns the states in checkpoints: the networks in the job's order, then the pools.
  [[nodiscard]] std::vector<NetworkState*> stored();
  [[nodiscard]] comm::HostGroup& host() { return host_; }
  /// Returns the memory of streams to the host's workers that exchange tensors with this one; empty
  /// if no network is apart.
  [[nodiscard]] comm::StreamMemory& streams() { return streams_; }
  /// See worker/plan_hash.hpp.
  [[nodiscard]] std::uint64_t plan_hash() const { return plan_hash_; }

 private:
  Placement placement_;
  PerNetwork<gan::Network> networks_;
  PerNetwork<std::unique_ptr<NetworkState>> states_;
  std::unique_ptr<ImagePools> pools_;
  comm::StreamMemory streams_;
  std::uint64_t plan_hash_;
  comm::HostGroup host_;
};

}  // namespace gangway::worker
