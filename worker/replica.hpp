// SPDX-License-Identifier: MIT
// A worker's replica of the job's networks, in memory that the workers of its host share: laid
// out, placed on its device, and met by the others of the host. Compute thread.
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

/// Who trains what, and where.
struct Placement {
  int worker = 0;
  Layout layout;
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
  /// What of earlier steps the micro-batches keep; null: the job keeps nothing.
  [[nodiscard]] ImagePools* pools() { return pools_.get(); }
  /// All that checkpoints have: the networks in the job's order, then the pools.
  [[nodiscard]] std::vector<NetworkState*> stored();
  [[nodiscard]] comm::HostGroup& host() { return host_; }
  /// Of streams to the workers of the host with which tensors are exchanged; none where no network
  /// is apart.
  [[nodiscard]] comm::StreamMemory& streams() { return streams_; }
  /// worker/plan_hash.hpp
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
